package redistest

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	Main(m, func() {
		RegisterChild("echo", echo)
		RegisterChild("fail", func([]string) { os.Exit(3) })
		RegisterChild("parent", parent)
	})
}

// echo prints its arguments and then every line of its stdin, until SIGTERM.
func echo(args []string) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		fmt.Println("term")
		os.Exit(0)
	}()
	fmt.Println("args " + strings.Join(args, " "))
	fmt.Fprintln(os.Stderr, "echo was here")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Println("line " + in.Text())
	}
}

// parent is a test binary that starts a server and a child and then waits to be
// killed.
func parent([]string) {
	s, err := startBinary(nil)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("server", s.host.(*process).cmd.Process.Pid)
	select {}
}

//go:build linux

package faults

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.RegisterChild("holder", beHolder)
	// Meshes wait far more than they compute. A -parallel on the command line still counts: it is
	// parsed later.
	if err := flag.Set("test.parallel", strconv.Itoa(number("WORQR_FAULT_MESHES", 6))); err != nil {
		panic(err)
	}
	redistest.Main(m)
}

// number reads an environment variable.
func number(name string, unset int) int {
	text := os.Getenv(name)
	if text == "" {
		return unset
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		fmt.Fprintf(os.Stderr, "%s=%s: it is a number\n", name, text)
		os.Exit(2)
	}
	return n
}

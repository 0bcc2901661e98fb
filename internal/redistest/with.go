package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ContainerWith is [Container] with extra redis-server arguments.
func ContainerWith(t testing.TB, args ...string) *Server {
	t.Helper()
	if _, err := daemon(); err != nil {
		return Container(t) // which explains it
	}
	s, err := runContainer(layout{args: args})
	if err != nil {
		t.Fatal(err)
	}
	removeAfter(t, s)
	return s
}

// OwnWithEnv starts a redis-server process for this test alone, with extra environment variables
// ("NAME=value"). It needs a binary; without one the test is skipped.
func OwnWithEnv(t testing.TB, env []string, args ...string) *Server {
	t.Helper()
	bin, err := findBinary()
	if err != nil {
		t.Skipf("needs a redis-server binary: %v", err)
	}
	var text strings.Builder
	text.WriteString("#!/bin/sh\n")
	for _, e := range env {
		fmt.Fprintf(&text, "export %s\n", shellQuote(e))
	}
	fmt.Fprintf(&text, "exec %s \"$@\"\n", shellQuote(bin.path))
	path := filepath.Join(t.TempDir(), "redis-server")
	if err := os.WriteFile(path, []byte(text.String()), 0o700); err != nil {
		t.Fatal(err)
	}
	bin.path = path
	s, err := startProcess(bin, args)
	if err != nil {
		t.Fatal(err)
	}
	removeAfter(t, s)
	return s
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

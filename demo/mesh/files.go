package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// directory returns what to hash: the flag's value, DIR, or the source tree of Go.
func directory(flag string) (string, error) {
	for _, dir := range []string{flag, os.Getenv("DIR")} {
		if dir != "" {
			return filepath.Abs(dir)
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("where Go's source tree is: go env GOROOT: %w; name a directory with -dir", err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "src"), nil
}

// list returns the regular files below a directory, and how many it left out because they cannot be
// read.
func list(dir string) (files []string, unreadable int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			unreadable++
		case d.Type().IsRegular():
			if f, err := os.Open(path); err != nil {
				unreadable++
			} else {
				f.Close()
				files = append(files, path)
			}
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no file to read below %s", dir)
	}
	return files, unreadable, err
}

// sumOf returns the SHA-256 of a file, or gives up when ctx ends.
func sumOf(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, reader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// reader reads as long as a context lasts.
type reader struct {
	ctx  context.Context
	from io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.from.Read(b)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// postgresServer is the PostgreSQL of the peers that need one.
type postgresServer struct {
	*server
	url, version string
	tool         func(ctx context.Context, name string, args ...string) *exec.Cmd
}

// findPostgres looks in the PATH and where Debian installs it, the newest version first.
func findPostgres() (dir string, err error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil { // psql is beside the real one
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is a constant
	if len(found) == 0 {
		return "", errors.New("no PostgreSQL on this machine")
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// startPostgres makes a cluster in a temporary folder. PostgreSQL refuses to run as root, so it
// runs as the user that its package has created.
func startPostgres(ctx context.Context) (_ *postgresServer, err error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "worqr-bench-")
	if err != nil {
		return nil, err
	}
	var attr *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		if attr, err = asPostgres(dir); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	tool := func(ctx context.Context, name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
		cmd.SysProcAttr, cmd.Dir = attr, dir
		return cmd
	}
	if out, err := tool(ctx, "initdb", "-D", dir+"/data", "-A", "trust", "-U", "bench", "--no-sync").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %s", reason(string(out), err)), os.RemoveAll(dir))
	}
	port, err := freePort()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// fsync is off, as Redis has no persistence here either.
	cmd := tool(context.Background(), "postgres", "-D", dir+"/data", "-p", strconv.Itoa(port), "-k", dir, "-h", "127.0.0.1",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=600",
		"-c", "shared_buffers=256MB")
	s, err := begin(cmd, dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &postgresServer{server: s, tool: tool, url: fmt.Sprintf("postgres://bench@127.0.0.1:%d/bench?sslmode=disable", port)}
	if out, err := tool(ctx, "postgres", "--version").Output(); err == nil {
		p.version = string(out)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if err = p.clear(ctx); err == nil {
			return p, nil
		}
		select {
		case <-s.done:
			return nil, fmt.Errorf("start PostgreSQL: it ended: %w", err)
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			p.stop(syscall.SIGINT)
			return nil, fmt.Errorf("start PostgreSQL: no answer: %w", err)
		}
	}
}

// asPostgres makes a command run as the user postgres, who gets the folder.
func asPostgres(dir string) (*syscall.SysProcAttr, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL, which does not run as root: %w", err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err1, err2, os.Chown(dir, uid, gid)); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// clear makes the database anew.
func (p *postgresServer) clear(ctx context.Context) error {
	admin := p.url[:len(p.url)-len("/bench?sslmode=disable")] + "/postgres?sslmode=disable"
	out, err := p.tool(ctx, "psql", admin, "-q", "-c", "DROP DATABASE IF EXISTS bench WITH (FORCE)", "-c", "CREATE DATABASE bench").CombinedOutput()
	if err != nil {
		return fmt.Errorf("clear PostgreSQL: %s", reason(string(out), err))
	}
	return nil
}

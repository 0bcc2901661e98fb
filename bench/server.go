package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/worqr/worqr-go/bench/adapter"
)

// server is a process that this program has started.
type server struct {
	cmd  *exec.Cmd
	done chan struct{}
	dir  string
}

// begin starts a process.
func begin(cmd *exec.Cmd, dir string) (*server, error) {
	s := &server{cmd: cmd, done: make(chan struct{}), dir: dir}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // how it ended does not matter
		close(s.done)
	}()
	return s, nil
}

// stop ends it, and removes its folder.
func (s *server) stop(sig syscall.Signal) {
	_ = s.cmd.Process.Signal(sig)
	select {
	case <-s.done:
	case <-time.After(5 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	_ = os.RemoveAll(s.dir)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// redisServer is the Redis of all peers.
type redisServer struct {
	*server
	addr, version string
}

// findRedis looks where the tests look.
func findRedis(root string) (path string, env []string, err error) {
	if path := os.Getenv("WORQR_REDIS_SERVER"); path != "" {
		return path, nil, nil
	}
	if path, err := exec.LookPath("redis-server"); err == nil {
		return path, nil, nil
	}
	cache, err := filepath.Abs(filepath.Join(root, "..", ".cache", "redis"))
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(cache, "usr", "bin", "redis-server")
	if _, err := os.Stat(path); err != nil {
		return "", nil, errors.New("no redis-server: install one, or set WORQR_REDIS_SERVER, or have scripts/redis fetch one")
	}
	libs, _ := filepath.Glob(filepath.Join(cache, "usr", "lib", "*-linux-*")) // the pattern is a constant
	return path, []string{"LD_LIBRARY_PATH=" + strings.Join(libs, ":")}, nil
}

func startRedis(ctx context.Context, root string) (*redisServer, error) {
	path, env, err := findRedis(root)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "worqr-bench-")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", dir, "--daemonize", "no", "--maxclients", "20000", "--client-output-buffer-limit", "normal 0 0 0")
	cmd.Env = append(os.Environ(), env...)
	s, err := begin(cmd, dir)
	if err != nil {
		return nil, fmt.Errorf("start Redis: %w", err)
	}
	r := &redisServer{server: s, addr: fmt.Sprintf("127.0.0.1:%d", port)}
	for deadline := time.Now().Add(10 * time.Second); ; {
		var conn *adapter.Redis
		if conn, err = adapter.DialRedis(r.addr); err == nil {
			info, infoErr := conn.Info("server")
			conn.Close()
			if err = infoErr; err == nil && info["redis_version"] != "" {
				r.version = info["redis_version"]
				return r, nil
			}
		}
		select {
		case <-s.done:
			return nil, fmt.Errorf("start Redis: it ended: %w", err)
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			r.stop(syscall.SIGTERM)
			return nil, fmt.Errorf("start Redis: no answer at %s: %w", r.addr, err)
		}
	}
}

// flush empties it.
func (r *redisServer) flush() error {
	conn, err := adapter.DialRedis(r.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Do("FLUSHALL", "SYNC")
	return err
}

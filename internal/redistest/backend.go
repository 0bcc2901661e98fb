package redistest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// backend is where a server comes from; see doc.go.
type backend string

const (
	auto      backend = "auto"
	byURL     backend = "url"
	byDocker  backend = "docker"
	byProcess backend = "process"
)

const advice = `redistest: these tests need a Redis. Do one of this:
  - install redis-server (or unpack it into .cache/redis, or name it in WORQR_REDIS_SERVER)
  - start a Docker daemon that has or can pull the image redis (or the one in WORQR_TEST_REDIS_IMAGE)
  - name a running server: WORQR_TEST_REDIS_URL=redis://127.0.0.1:6379/0`

// chosen returns the backend that the environment asks for.
func chosen() (backend, error) {
	switch b := backend(os.Getenv("WORQR_TEST_BACKEND")); b {
	case "", auto:
		if os.Getenv("WORQR_TEST_REDIS_URL") != "" {
			return byURL, nil
		}
		return auto, nil
	case byURL:
		if os.Getenv("WORQR_TEST_REDIS_URL") == "" {
			return b, errors.New("WORQR_TEST_BACKEND=url needs WORQR_TEST_REDIS_URL")
		}
		return b, nil
	case byDocker, byProcess:
		return b, nil
	default:
		return b, fmt.Errorf("WORQR_TEST_BACKEND=%s: it is url, docker, process or auto", b)
	}
}

// shared is the one server of this test binary.
var shared sharedServer

type sharedServer struct {
	mu     sync.Mutex
	server *Server
	err    error // of the first try: it is not repeated
}

// Shared returns the server that all tests of this binary share. It starts at the first use. Tests
// keep apart by [Namespace]; none may stop, flush or reconfigure it.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = startShared()
	}
	if shared.err != nil {
		t.Fatalf("%v\n%s", shared.err, advice)
	}
	return shared.server
}

func startShared() (*Server, error) {
	b, err := chosen()
	if err != nil {
		return nil, err
	}
	var s *Server
	switch b {
	case byURL:
		if s, err = urlServer(os.Getenv("WORQR_TEST_REDIS_URL")); err != nil {
			err = fmt.Errorf("WORQR_TEST_REDIS_URL: %w", err)
		}
	case byDocker:
		s, err = startContainer(layout{once: true})
	case byProcess:
		s, err = startBinary(nil)
	default:
		var noDocker, noBinary error
		if s, noDocker = startContainer(layout{once: true}); noDocker != nil {
			s, noBinary = startBinary(nil)
		}
		if noBinary != nil {
			err = errors.Join(noDocker, noBinary)
		}
	}
	if err != nil {
		return nil, err
	}
	s.shared = true
	version, err := s.version()
	if err != nil {
		if s.host != nil {
			s.host.remove()
		}
		return nil, fmt.Errorf("redistest: %s: %w", s.addr, err)
	}
	kind := "that runs already"
	if s.host != nil {
		kind = s.host.kind()
	}
	fmt.Fprintf(os.Stderr, "redistest: %s %s, %s\n", version, kind, s.addr)
	return s, nil
}

func startBinary(args []string) (*Server, error) {
	bin, err := findBinary()
	if err != nil {
		return nil, err
	}
	return startProcess(bin, args)
}

func (s *sharedServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.server != nil && s.server.host != nil {
		if err := s.server.host.remove(); err != nil {
			fmt.Fprintf(os.Stderr, "redistest: the shared server: %v\n", err)
		}
	}
	s.server, s.err = nil, errors.New("redistest: the tests are over")
}

// Own starts a server for this test alone, with extra redis-server arguments, and removes it at the
// end of the test. The server is a process whenever there is a binary, because that starts fastest,
// else a container.
func Own(t testing.TB, args ...string) *Server {
	t.Helper()
	s, noBinary := startBinary(args)
	if noBinary != nil {
		var noDocker error
		if s, noDocker = startContainer(layout{args: args}); noDocker != nil {
			t.Fatalf("%v\n%v\n%s", noBinary, noDocker, advice)
		}
	}
	removeAfter(t, s)
	return s
}

// Container starts a container with a network of its own for this test, for faults on the way to
// Redis. Its port on 127.0.0.1 stays the same. Without a Docker daemon the test is skipped; with
// WORQR_TEST_BACKEND=docker it fails.
func Container(t testing.TB) *Server {
	t.Helper()
	if _, err := daemon(); err != nil {
		if os.Getenv("WORQR_TEST_BACKEND") == string(byDocker) {
			t.Fatalf("%v\n%s", err, advice)
		}
		t.Skipf("needs a Docker daemon: %v", err)
	}
	s, err := runContainer(layout{})
	if err != nil {
		t.Fatal(err)
	}
	removeAfter(t, s)
	return s
}

func removeAfter(t testing.TB, s *Server) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last output of the server at %s:\n%s", s.addr, s.host.log())
		}
		if err := s.host.remove(); err != nil {
			t.Errorf("redistest: remove %s: %v", s.addr, err)
		}
	})
}

package redistest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binary is a redis-server of this machine.
type binary struct {
	path string
	// libs are folders for LD_LIBRARY_PATH, if the server was unpacked rather than installed.
	libs []string
}

// findBinary searches the places that doc.go lists.
func findBinary() (binary, error) {
	if path := os.Getenv("WORQR_REDIS_SERVER"); path != "" {
		path, err := exec.LookPath(path)
		if err != nil {
			return binary{}, fmt.Errorf("WORQR_REDIS_SERVER: %w", err)
		}
		path, err = filepath.Abs(path)
		return binary{path: path, libs: libsBeside(path)}, err
	}
	if path, err := exec.LookPath("redis-server"); err == nil {
		path, err = filepath.Abs(path)
		return binary{path: path}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return binary{}, err
	}
	for {
		path := filepath.Join(dir, ".cache", "redis", "usr", "bin", "redis-server")
		if _, err := exec.LookPath(path); err == nil {
			return binary{path: path, libs: libsBeside(path)}, nil
		}
		if dir == filepath.Dir(dir) {
			return binary{}, errors.New("no redis-server: not in WORQR_REDIS_SERVER, PATH or .cache/redis/usr/bin")
		}
		dir = filepath.Dir(dir)
	}
}

// libsBeside returns the library folders of an unpacked package (<root>/usr/bin/redis-server). An
// installed one needs none.
func libsBeside(path string) []string {
	root, ok := strings.CutSuffix(path, "/usr/bin/redis-server")
	if !ok || root == "" {
		return nil
	}
	var libs []string
	for _, pattern := range []string{"usr/lib/*-linux-*", "lib/*-linux-*", "usr/lib", "lib", "usr/lib64", "lib64"} {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		libs = append(libs, found...)
	}
	return libs
}

// environ returns this process's environment with the library folders.
func (b binary) environ() []string {
	if len(b.libs) == 0 {
		return os.Environ()
	}
	path := strings.Join(b.libs, ":")
	if old := os.Getenv("LD_LIBRARY_PATH"); old != "" {
		path += ":" + old
	}
	return append(os.Environ(), "LD_LIBRARY_PATH="+path)
}

// needs returns the shared libraries of the binary, as ldd lists them.
func (b binary) needs() ([]string, error) {
	cmd := exec.Command("ldd", b.path)
	cmd.Env = b.environ()
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(string(out), "not a dynamic executable") {
			return nil, nil
		}
		return nil, fmt.Errorf("ldd %s: %w", b.path, err)
	}
	var libs []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("ldd %s: %s", b.path, strings.TrimSpace(line))
		}
		for _, word := range strings.Fields(line) {
			if filepath.IsAbs(word) {
				libs = append(libs, word)
			}
		}
	}
	return libs, nil
}

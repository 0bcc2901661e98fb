package redistest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// staleAge protects young folders: their process may be one that we cannot see, in a container with
// the same temporary folder.
const staleAge = 10 * time.Minute

// newFolder makes a folder for a server's data. Its name shows whose it is, so that a later run can
// remove what a killed one left.
func newFolder() (string, error) {
	removeStaleFolders()
	return os.MkdirTemp("", fmt.Sprintf("redistest-%d-", os.Getpid()))
}

var removeStaleFolders = sync.OnceFunc(func() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "redistest-*-*"))
	for _, dir := range dirs {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), "redistest-%d-", &pid); err != nil || pid <= 0 {
			continue
		}
		info, err := os.Stat(dir)
		if err == nil && time.Since(info.ModTime()) > staleAge && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			os.RemoveAll(dir) // what cannot be removed stays
		}
	}
})

//go:build !unix

package main

import (
	"errors"
	"os"
)

// freeze needs SIGSTOP. Where there is none the demo only kills.
func freeze(*os.Process) error { return errors.ErrUnsupported }

func thaw(*os.Process) error { return errors.ErrUnsupported }

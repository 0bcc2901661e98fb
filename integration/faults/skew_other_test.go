//go:build linux && !amd64

package faults

import (
	"errors"
	"time"
)

// skew would step the wall clock of this process. It works on amd64 only.
type skew struct{}

func newSkew() (*skew, error) { return nil, errors.New("clocks are stepped on amd64 only") }

func (*skew) set(time.Duration) error { return nil }

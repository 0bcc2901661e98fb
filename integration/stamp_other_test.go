//go:build !linux

package integration

import "time"

// stamp returns the wall clock here: nobody sets it during the tests.
func stamp() time.Duration { return time.Duration(time.Now().UnixNano()) }

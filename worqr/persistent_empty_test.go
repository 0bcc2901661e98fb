package worqr_test

import (
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

// A task of no bytes is delayed like any other: no script takes it for the member that is never
// there.
//
// scenario 4
func TestPersistentTaskOfNoBytesComesBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.join("a", by(f.broken("a", ways["nil"])))
	f.ready(1)
	enqueue(t, f.mesh, "q", "")
	redistest.Eventually(t, soon, "it is held again and again", func() bool { return f.begun("") > 2 })
	if at := f.locate(""); at.State == "gone" {
		t.Errorf("after %d turns it is %+v", f.begun(""), at)
	}
}

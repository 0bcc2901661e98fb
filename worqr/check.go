package worqr

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/worqr/worqr-go/internal/wire"
)

// Check asks the server whether this mesh can rely on it: that it answers, that it does not evict
// keys under memory pressure (a lost heartbeat is a false death, a lost list is lost tasks), and
// that the user may run every command that the scripts use. It leaves nothing behind, and does not
// try to subscribe: without that right the listener says so in the log, and tasks are found by
// looks. Open calls it.
// Errors: ErrConfig, or what the connection answered.
func (m *Mesh) Check(ctx context.Context) error {
	if err := m.checkEviction(ctx); err != nil {
		return failed(err, "check")
	}
	wrong, err := m.wire.Check(ctx, "check-"+uuid.NewString())
	if err != nil {
		return failed(err, "check")
	}
	if wrong == "" {
		return nil
	}
	if err := m.misled(wrong); err != nil {
		return failed(err, "check")
	}
	return failed(fmt.Errorf("%w: the server refuses a command that is needed: %s; Redis 6.2 or later and the rights of +@all on %s are enough", ErrConfig, wrong, m.keys.Rights()), "check")
}

// misled returns the error of a server that refuses whoever writes: it is no matter of rights.
// wrong is what check.lua found.
func (m *Mesh) misled(wrong string) error {
	_, text, _ := strings.Cut(wrong, ": ")
	if err := wire.Refusal(text); wire.Misled(err) {
		m.at.wrong(m.at.turn.Load(), err) // in an answer the connection does not see it
		return err
	}
	return nil
}

func (m *Mesh) checkEviction(ctx context.Context) error {
	limit, policy, err := wire.Memory(ctx, m.cmd)
	if wire.Lasts(err) {
		return nil // a server or a user without INFO: not known
	}
	if err != nil {
		return err
	}
	if limit == "" || limit == "0" || policy == "noeviction" || m.cfg.AllowEviction {
		return nil
	}
	return fmt.Errorf("%w: the server has maxmemory %s and maxmemory-policy %s, so it can evict heartbeats and tasks; set noeviction, or accept the loss with AllowEviction", ErrConfig, limit, policy)
}

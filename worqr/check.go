package worqr

import (
	"context"
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
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
	db, err := m.db(ctx)
	if err != nil {
		return failed(err, "check")
	}
	scratch := "check-" + uuid.NewString()
	for i, key := range []string{m.keys.Mesh() + ":" + scratch, m.keys.Queue(scratch)} {
		command, text := "EVAL", checkScript.Source // by its text, then by its name: the rights to both are needed
		if i > 0 {
			command, text = "EVALSHA", checkScript.SHA
		}
		reply, err := m.read(ctx, command, text, 1, key, m.keys.Channels(db)+":check")
		wrong, err := redis.String(reply, err)
		if err != nil {
			return failed(err, "check")
		}
		if wrong != "" {
			if err := m.misled(wrong); err != nil {
				return failed(err, "check")
			}
			return failed(fmt.Errorf("%w: the server refuses a command that is needed: %s; Redis 6.2 or later and the rights of +@all on ~%s:* ~%s* resetchannels &%s@* are enough", ErrConfig, wrong, m.cfg.Namespace, m.keys.Mesh(), m.cfg.Namespace), "check")
		}
	}
	return nil
}

// misled returns the error of a server that refuses whoever writes: it is no matter of rights.
// wrong is what check.lua found.
func (m *Mesh) misled(wrong string) error {
	_, text, _ := strings.Cut(wrong, ": ")
	if err, _ := wire.Classify(redis.Error(text)); wire.Misled(err) {
		m.at.wrong(m.at.turn.Load(), err) // in an answer the connection does not see it
		return err
	}
	return nil
}

func (m *Mesh) checkEviction(ctx context.Context) error {
	info, err := redis.String(m.read(ctx, "INFO", "memory"))
	if wire.Lasts(err) {
		return nil // a server or a user without INFO: not known
	}
	if err != nil {
		return err
	}
	limit, policy := infoField(info, "maxmemory"), infoField(info, "maxmemory_policy")
	if limit == "" || limit == "0" || policy == "noeviction" || m.cfg.AllowEviction {
		return nil
	}
	return fmt.Errorf("%w: the server has maxmemory %s and maxmemory-policy %s, so it can evict heartbeats and tasks; set noeviction, or accept the loss with AllowEviction", ErrConfig, limit, policy)
}

// infoField answers one field of what INFO says, or "".
func infoField(info, field string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

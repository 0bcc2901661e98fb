package worqr

import (
	"context"
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
)

// Check asks the server whether this mesh can rely on it: that it answers, that it does not evict keys under memory
// pressure (a lost heartbeat is a false death, a lost list is lost tasks), and that the user may run every command that
// the scripts use. It leaves nothing behind, and does not try to subscribe: without that right the listener says so in the
// log, and tasks are found by looks. Open calls it.
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
	for i, key := range []string{m.keys.mesh() + ":" + scratch, m.keys.queue(scratch)} {
		command, text := "EVAL", checkScript.source // by its text, then by its name: the rights to both are needed
		if i > 0 {
			command, text = "EVALSHA", checkScript.sha
		}
		reply, err := m.read(ctx, command, text, 1, key, m.keys.channels(db)+":check")
		wrong, err := redis.String(reply, err)
		if err != nil {
			return failed(err, "check")
		}
		if wrong != "" {
			return failed(fmt.Errorf("%w: the server refuses a command that is needed: %s; Redis 6.2 or later and the rights of +@all on ~%s:* ~%s* &%s@* are enough", ErrConfig, wrong, m.keys.ns, m.keys.mesh(), m.keys.ns), "check")
		}
	}
	return nil
}

func (m *Mesh) checkEviction(ctx context.Context) error {
	info, err := redis.String(m.read(ctx, "INFO", "memory"))
	if _, refused := err.(redis.Error); refused {
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

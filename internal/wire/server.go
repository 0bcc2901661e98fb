package wire

import (
	"context"
	"strconv"
	"strings"
)

var checkScript = Named("check")

// Check tries every command that the scripts use, in both slots: by the text of the script, then by
// its name, as the rights to both are needed. It returns the first refusal, "": there is none.
func (m *Mesh) Check(ctx context.Context, scratch string) (wrong string, err error) {
	root, err := m.channels(ctx)
	if err != nil {
		return "", err
	}
	reply, err := m.send.Read(ctx, "EVAL", checkScript.Source, 1, m.keys.Mesh()+":"+scratch, root+":check")
	wrong, err = decoded(reply, err, decodeCheck)
	if err == nil && wrong == "" {
		reply, err = m.send.Read(ctx, "EVALSHA", checkScript.SHA, 1, m.keys.Queue(scratch), root+":check")
		wrong, err = decoded(reply, err, decodeCheck)
	}
	return wrong, err
}

func decodeCheck(reply any) (string, error) { return decodeText("check", reply) }

// Rights are those that a user needs beside +@all, as ACL rules.
func (k Keyspace) Rights() string {
	return "~" + k.ns + ":* ~" + k.Mesh() + "* resetchannels &" + k.ns + "@*"
}

// decodeDatabase reads what CLIENT INFO says, also nothing.
func decodeDatabase(reply any) (number int) {
	info, _ := textIn(reply)
	for field := range strings.FieldsSeq(info) {
		if value, found := strings.CutPrefix(field, "db="); found {
			number, _ = strconv.Atoi(value) // 0 when it is no number
		}
	}
	return number
}

// Memory is what the server does when its memory is full.
type Memory struct{ Limit, Policy string }

// Memory asks for the limit of the server's memory.
func (m *Mesh) Memory(ctx context.Context) (Memory, error) {
	info, err := m.info(ctx, "memory")
	return Memory{InfoField(info, "maxmemory"), InfoField(info, "maxmemory_policy")}, err
}

// Replica asks whether the server is a replica.
func (m *Mesh) Replica(ctx context.Context) (bool, error) {
	info, err := m.info(ctx, "replication")
	return InfoField(info, "role") == "slave", err
}

func (m *Mesh) info(ctx context.Context, section string) (string, error) {
	reply, err := m.send.Read(ctx, "INFO", section)
	return decoded(reply, err, decodeInfo)
}

func decodeInfo(reply any) (string, error) { return decodeText("INFO", reply) }

// RunID returns which run of which server it was that answered INFO server, "": it does not say.
func RunID(reply any) string {
	info, _ := textIn(reply)
	return InfoField(info, "run_id")
}

// InfoField returns one field of what INFO says, or "".
func InfoField(info, field string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

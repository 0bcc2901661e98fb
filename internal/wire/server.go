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

// Memory asks for the limit of the server's memory, and what it evicts when that is reached. Where
// it does not say so both are "".
func Memory(ctx context.Context, send Sender) (limit, policy string, err error) {
	reply, err := send.Read(ctx, "INFO", "memory")
	info, err := decoded(reply, err, decodeInfo)
	return infoField(info, "maxmemory"), infoField(info, "maxmemory_policy"), err
}

// Replica asks whether the server is a replica.
func Replica(ctx context.Context, send Sender) (bool, error) {
	reply, err := send.Read(ctx, "INFO", "replication")
	info, err := decoded(reply, err, decodeInfo)
	return infoField(info, "role") == "slave", err
}

func decodeInfo(reply any) (string, error) { return decodeText("INFO", reply) }

// RunID returns which run of which server it was that answered INFO server, "": it does not say.
func RunID(reply any) string {
	info, _ := textIn(reply)
	return infoField(info, "run_id")
}

// infoField returns one field of what INFO says, or "".
func infoField(info, field string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

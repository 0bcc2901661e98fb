package worqr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxNamespace = 64
	maxQueueName = 200
)

// keyspace makes the names of keys and channels of one mesh. Nothing is ever parsed back out of
// them.
type keyspace struct{ ns string }

func newKeyspace(ns string) (keyspace, error) {
	if len(ns) == 0 || len(ns) > maxNamespace {
		return keyspace{}, fmt.Errorf("%w: Namespace: %q has %d bytes, 1 to %d are allowed", ErrConfig, clip(ns), len(ns), maxNamespace)
	}
	for _, c := range []byte(ns) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return keyspace{}, fmt.Errorf("%w: Namespace: %q contains %q, only A-Z a-z 0-9 . _ - are allowed", ErrConfig, ns, c)
		}
	}
	return keyspace{ns}, nil
}

// mesh is the prefix of the keys of the mesh itself: {ns}, one slot.
func (k keyspace) mesh() string { return "{" + k.ns + "}" }

// queue is the prefix of the keys of one queue. The part of the name before its first / decides the
// slot.
func (k keyspace) queue(q string) string {
	tag, rest := q, ""
	if i := strings.IndexByte(q, '/'); i >= 0 {
		tag, rest = q[:i], q[i:]
	}
	return k.ns + ":{" + tag + "}" + rest
}

// channels is the root of the channel names. Pub/sub does not know databases, so the root carries
// the number.
func (k keyspace) channels(db int) string { return k.ns + "@" + strconv.Itoa(db) }

// checkQueue refuses what is no queue name, and says why.
func checkQueue(q string) error {
	refuse := func(why string) error {
		return fmt.Errorf("%w: queue name %q: %s", ErrInvalid, clip(q), why)
	}
	switch {
	case q == "":
		return refuse("it is empty")
	case len(q) > maxQueueName:
		return refuse(fmt.Sprintf("it has %d bytes, at most %d are allowed", len(q), maxQueueName))
	case !utf8.ValidString(q):
		return refuse("it is not valid UTF-8")
	case q[0] == '/':
		return refuse("it begins with a slash, so it has no slot")
	}
	for _, r := range q {
		switch {
		case r == '{' || r == '}':
			return refuse("braces are not allowed, they mark the slot")
		case unicode.IsControl(r):
			return refuse("control characters are not allowed")
		case unicode.IsSpace(r):
			return refuse("spaces are not allowed")
		}
	}
	return nil
}

// clip shortens what a caller gave for an error message.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

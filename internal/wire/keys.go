package wire

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

// Keyspace makes the names of keys and channels of one mesh. Nothing is ever parsed back out of
// them.
type Keyspace struct{ ns string }

// NewKeyspace refuses what is no namespace, with ErrConfig.
func NewKeyspace(ns string) (Keyspace, error) {
	if len(ns) == 0 || len(ns) > maxNamespace {
		return Keyspace{}, fmt.Errorf("%w: Namespace: %q has %d bytes, 1 to %d are allowed", ErrConfig, Clip(ns), len(ns), maxNamespace)
	}
	for _, c := range []byte(ns) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return Keyspace{}, fmt.Errorf("%w: Namespace: %q contains %q, only A-Z a-z 0-9 . _ - are allowed", ErrConfig, ns, c)
		}
	}
	return Keyspace{ns}, nil
}

// Mesh is the prefix of the keys of the mesh itself: {ns}, one slot.
func (k Keyspace) Mesh() string { return "{" + k.ns + "}" }

// Queue is the prefix of the keys of one queue. The part of the name before its first / decides the
// slot.
func (k Keyspace) Queue(q string) string {
	tag, rest := q, ""
	if i := strings.IndexByte(q, '/'); i >= 0 {
		tag, rest = q[:i], q[i:]
	}
	return k.ns + ":{" + tag + "}" + rest
}

// Channels is the root of the channel names. Pub/sub does not know databases, so the root carries
// the number.
func (k Keyspace) Channels(db int) string { return k.ns + "@" + strconv.Itoa(db) }

// CheckQueue refuses what is no queue name with ErrInvalid, and says why.
func CheckQueue(q string) error {
	refuse := func(why string) error {
		return fmt.Errorf("%w: queue name %q: %s", ErrInvalid, Clip(q), why)
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

// Clip shortens what a caller gave for an error message.
func Clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

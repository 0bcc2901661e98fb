package redistest

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// namespaceName is how many bytes of a test's name its namespace shows: with the random part it
// stays within the 64 bytes that a namespace may have.
const namespaceName = 40

// Namespace returns a namespace that no other test and no other run uses. At the end of the test it
// removes this namespace's keys from the shared server, in every database.
func Namespace(t testing.TB) string {
	t.Helper()
	s := Shared(t)
	ns := newNamespace(t.Name())
	t.Cleanup(func() {
		c, err := s.dial()
		if err != nil {
			t.Errorf("redistest: removing the keys of %s: %v", ns, err)
			return
		}
		defer c.Close()
		if err := removeNamespace(c, ns); err != nil {
			t.Errorf("redistest: removing the keys of %s: %v", ns, err)
		}
	})
	return ns
}

func newNamespace(test string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, test)
	if len(name) > namespaceName {
		name = name[:namespaceName]
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	return name + "-" + hex.EncodeToString(b[:])
}

// removeNamespace deletes the mesh keys ({ns}:..) and the queue keys (ns:{..)
// of ns in every database that holds keys.
func removeNamespace(c redis.Conn, ns string) error {
	info, err := redis.String(c.Do("INFO", "keyspace"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(info) {
		db, _, ok := strings.Cut(line, ":keys=")
		if !ok {
			continue
		}
		if _, err := c.Do("SELECT", strings.TrimPrefix(db, "db")); err != nil {
			return err
		}
		for _, pattern := range []string{"{" + ns + "}:*", ns + ":{*"} {
			if err := removeMatching(c, pattern); err != nil {
				return err
			}
		}
	}
	return nil
}

func removeMatching(c redis.Conn, pattern string) error {
	cursor := "0"
	for {
		page, err := redis.Values(c.Do("SCAN", cursor, "MATCH", pattern, "COUNT", 1000))
		if err != nil {
			return err
		}
		var keys []any
		if _, err := redis.Scan(page, &cursor, &keys); err != nil {
			return err
		}
		if len(keys) > 0 {
			if _, err := c.Do("UNLINK", keys...); err != nil {
				return err
			}
		}
		if cursor == "0" {
			return nil
		}
	}
}

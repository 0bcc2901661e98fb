package subscribe

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/rs/zerolog"
)

var (
	// ErrConfig is returned by New, wrapped with the field and its value.
	ErrConfig = errors.New("events: bad configuration")

	// ErrRunning is returned by Run while another Run of the same Listener has not returned yet.
	ErrRunning = errors.New("events: the listener is running already")
)

// Config is the configuration of a Listener. Dial and Namespace are required.
type Config struct {
	// Dial makes a connection that belongs to the Listener alone, never a pooled one. It must give
	// up when ctx ends, which is at the latest after the longer of 2*Ping and 5 s; ctx is for the
	// dialling only. The connection should have a write timeout; its read timeout does not matter.
	Dial func(ctx context.Context) (redis.Conn, error)

	// Namespace is the mesh's: 1 to 64 of A-Z a-z 0-9 . _ -
	Namespace string

	// Database returns the number of the Redis database. It is a part of every channel's name,
	// because pub/sub does not know databases. Database is called before dialling, under the same
	// ctx as Dial, until it has succeeded once. Nil means 0.
	Database func(ctx context.Context) (int, error)

	// Buffer is how many events may wait for one callback of On, OnMesh or Register. Default 1024.
	Buffer int

	// Ping is how often the connection is probed. One on which nothing arrived for 2*Ping is taken
	// for dead. Default 5 s, at least 10 ms.
	Ping time.Duration

	// Logger gets what nobody can return to: lost connections, dropped events, panics. The zero
	// value is silent. It must not block.
	Logger zerolog.Logger
}

const minPing = 10 * time.Millisecond

var namespaceForm = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,64}\z`)

// withDefaults checks cfg and fills in what was left at zero.
func (cfg Config) withDefaults() (Config, error) {
	if cfg.Dial == nil {
		return cfg, fmt.Errorf("%w: Dial is nil", ErrConfig)
	}
	if !namespaceForm.MatchString(cfg.Namespace) {
		return cfg, fmt.Errorf("%w: Namespace is %q, want 1 to 64 of A-Z a-z 0-9 . _ -", ErrConfig, cfg.Namespace)
	}
	if cfg.Buffer < 0 {
		return cfg, fmt.Errorf("%w: Buffer is %d, want 0 (for 1024) or more", ErrConfig, cfg.Buffer)
	}
	if cfg.Ping != 0 && cfg.Ping < minPing {
		return cfg, fmt.Errorf("%w: Ping is %v, want 0 (for 5s) or at least %v", ErrConfig, cfg.Ping, minPing)
	}
	if cfg.Database == nil {
		cfg.Database = func(context.Context) (int, error) { return 0, nil }
	}
	if cfg.Buffer == 0 {
		cfg.Buffer = 1024
	}
	if cfg.Ping == 0 {
		cfg.Ping = 5 * time.Second
	}
	return cfg, nil
}

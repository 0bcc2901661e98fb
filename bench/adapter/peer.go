package adapter

import (
	"context"
	"errors"
)

// Peer describes a library.
type Peer struct {
	Module  string // whose version is printed
	Config  string // how it is configured, in a line
	NoRedis bool   // the figures of Redis mean nothing for it
	Open    func(ctx context.Context, o Options) (*Session, error)
}

// Session is the library at work. It cannot do what is nil.
type Session struct {
	// Enqueue stores one task by the call that a user would make. It returns when the task is
	// stored.
	Enqueue func(ctx context.Context, task []byte) error
	// Fill stores a task n times, in the fastest way that the library offers. Nil: by Enqueue.
	Fill func(ctx context.Context, task []byte, n int) error
	// Consume starts a consumer, and returns when it will take tasks. Each handler must call handle
	// first, which may block. settled counts a finished task. A handler calls it at its end; a
	// program that knows better when a task is settled calls it then.
	Consume func(ctx context.Context, concurrency int, handle, settled func()) error
	// Call runs one trivial script.
	Call func(ctx context.Context) error
	// Own replaces modes: a program without a library has its own loops.
	Own map[string]func(ctx context.Context, r *Run) error
	// Close ends the session. The program ends then, so Close need not be thorough.
	Close func()
}

// Options are the flags.
type Options struct {
	Redis       string // host:port
	Postgres    string // a URL
	Scripts     string // the file with this project's Lua scripts
	Mode        string
	Concurrency int
	Tasks       int
	Seconds     float64
	Samples     int
	Pause       float64 // milliseconds between two samples, on average
	Variant     string  // of a peer that has several configurations
}

// ErrUnsupported is the error of a mode that a peer does not have.
var ErrUnsupported = errors.New("this peer has no such mode")

package wire

import (
	"context"
	"sync/atomic"
)

// Most is how many tasks, processes or marks one step of anything has at the most.
const Most = 500

// Evaluator runs scripts.
type Evaluator interface {
	// Eval runs a script with what Script.Command returned. repeated reports whether a copy before
	// the one that was answered may have run.
	Eval(ctx context.Context, s *Script, words []any) (reply any, repeated bool, err error)
}

// Sender runs scripts and reads.
type Sender interface {
	Evaluator
	// Read sends one command that changes nothing.
	Read(ctx context.Context, command string, args ...any) (any, error)
}

// Mesh makes the calls in the slot of the mesh.
type Mesh struct {
	keys Keyspace
	send Sender
	at   atomic.Pointer[database] // nil: not known yet
}

// New makes one that finds out the number of the database by itself.
func New(keys Keyspace, send Sender) *Mesh { return &Mesh{keys: keys, send: send} }

// database is where the keys are.
type database struct {
	number   int
	channels string // the root of their names
}

// Use sets the number of the database, so that nobody asks.
func (m *Mesh) Use(number int) { m.at.Store(&database{number, m.keys.Channels(number)}) }

// Database returns the number of the database, which the names of channels carry. Where the server
// does not tell it is 0.
func (m *Mesh) Database(ctx context.Context) (int, error) {
	if at := m.at.Load(); at != nil {
		return at.number, nil
	}
	reply, err := m.send.Read(ctx, "CLIENT", "INFO")
	if err != nil && !Lasts(err) {
		return 0, err
	}
	m.Use(decodeDatabase(reply))
	return m.at.Load().number, nil
}

// channels returns the root of the names of channels.
func (m *Mesh) channels(ctx context.Context) (string, error) {
	if _, err := m.Database(ctx); err != nil {
		return "", err
	}
	return m.at.Load().channels, nil
}

func (m *Mesh) eval(ctx context.Context, s *Script, args ...any) (any, error) {
	return m.evalOver(ctx, m.send, s, args...)
}

func (m *Mesh) evalOver(ctx context.Context, over Evaluator, s *Script, args ...any) (any, error) {
	root, err := m.channels(ctx)
	if err != nil {
		return nil, err
	}
	reply, _, err := over.Eval(ctx, s, s.Command(m.keys.Mesh(), args, root))
	return reply, err
}

// Queue makes the calls in the slot of a queue.
type Queue struct {
	Name string
	mesh *Mesh
	key  string
	hold bool // its tasks are persistent
}

// Queue returns the calls of a queue.
func (m *Mesh) Queue(name string) Queue {
	return Queue{Name: name, mesh: m, key: m.keys.Queue(name)}
}

// Hold makes the calls of a queue of persistent tasks: those that all queues have, and its own.
type Hold struct{ Queue }

// Hold returns the calls of a queue that is served as one of persistent tasks.
func (m *Mesh) Hold(name string) Hold {
	q := m.Queue(name)
	q.hold = true
	return Hold{q}
}

// eval runs a script. repeated: see Evaluator.
func (q Queue) eval(ctx context.Context, s *Script, args ...any) (reply any, repeated bool, err error) {
	root, err := q.mesh.channels(ctx)
	if err != nil {
		return nil, false, err
	}
	return q.mesh.send.Eval(ctx, s, s.Command(q.key, args, root, q.Name))
}

func (q Queue) ask(ctx context.Context, s *Script, args ...any) (any, error) {
	reply, _, err := q.eval(ctx, s, args...)
	return reply, err
}

// stored is a task as it is sent: nil would be no bytes of another kind.
func stored(task []byte) []byte {
	if task == nil {
		return []byte{}
	}
	return task
}

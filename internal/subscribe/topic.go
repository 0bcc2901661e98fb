package subscribe

import "github.com/worqr/worqr-go/events"

// The kinds that no user sees. They begin far above those of package events, which may get more.
const (
	wake  events.Kind = 32 + iota // look at Queue
	give                          // give up Count persistent tasks of Queue, down to Token of them
	fail                          // this worker was failed by hand
	mesh                          // the mesh channel as a whole, which carries Joined to Reclaimed
	ready                         // no message: what OnReady is called with
)

// word returns the word for k, for channels and the log.
func word(k events.Kind) string {
	switch k {
	case wake:
		return "wake"
	case give:
		return "give"
	case fail:
		return "fail"
	case mesh:
		return "mesh"
	case ready:
		return "ready"
	default:
		return k.String()
	}
}

func ofQueue(k events.Kind) bool { return k >= events.Work && k <= events.Done }
func ofMesh(k events.Kind) bool  { return k >= events.Joined && k <= events.Reclaimed }

// topic is what one channel is about. It alone decides how the channel's payloads are read: nothing
// is ever taken out of a channel's name.
type topic struct {
	kind events.Kind // Work to Done, mesh, or wake
	name string      // the queue; for wake the worker; for mesh empty
}

// key returns the channel's name without the namespace and database in front.
func (t topic) key() string {
	switch t.kind {
	case mesh:
		return ":mesh"
	case wake:
		return ":wake:" + t.name
	default:
		return ":" + t.name + ":" + word(t.kind)
	}
}

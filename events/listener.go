package events

// Listener calls functions when something happens in a mesh. Its methods may be called from any
// goroutine, also from within those functions, and stop works the same way. After Mesh.Close they
// may still be called, but no function is.
//
// It is an interface because the mesh listens for itself over the same connection, with more
// methods than users need. Methods may be added to it, so a type that stands in for it in a test
// should embed a Listener.
type Listener interface {
	// On calls fn with the queue's events of these kinds: Work, Cancel, Delete, Done; none named
	// means all four. The calls come in order and one at a time, on a goroutine of their own, and
	// fn may block. While it does, 1024 events wait; then the newest is dropped.
	//
	// After stop has returned no call begins, except for one event that had left the buffer
	// already. stop discards what waits. It does not wait for a call in progress, and may be called
	// twice and from within fn.
	//
	// The queue need not exist yet. On panics if a kind is not one of a queue.
	On(queue string, fn func(Event), kinds ...Kind) (stop func())

	// OnMesh calls fn with the events of the mesh's workers: Joined, Left, Lapsed, Reclaimed; none
	// named means all four. It panics if a kind is not one of the mesh. For the rest it is as On.
	OnMesh(fn func(Event), kinds ...Kind) (stop func())

	// OnReady calls fn each time that everything registered is subscribed to: after every new
	// connection, and again after every later registration, also one of the mesh's own. What was
	// published before may have been missed, so it is the time to read the truth again.
	//
	// fn is called on the goroutine that reads the connection, so it must not block: it sets a
	// flag, or fills a channel that has room. One call is made for all registrations before it, but
	// many of them in a row may cause many calls. There is no call for what was ready before
	// OnReady: a caller that registered earlier checks Ready as well. stop is as that of On.
	OnReady(fn func()) (stop func())

	// Ready reports whether there is a connection on which everything registered is subscribed to.
	// It is false while nothing is registered. On a connection that has died silently it may remain
	// true for 10 s.
	Ready() bool

	// Dropped returns how many events were dropped because the buffer of a callback was full, over
	// all callbacks since the mesh was opened.
	Dropped() uint64

	// Malformed returns how many messages could not be read, and were passed over, since the mesh
	// was opened. Above 0 something else than this library publishes on the mesh's channels.
	Malformed() uint64
}

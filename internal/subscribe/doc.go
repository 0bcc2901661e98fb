// Package subscribe is the engine behind [events.Listener]: one Redis connection that does nothing
// but subscribe, what is wanted of it, and the calls that follow from what arrives.
//
// [Listener] is what the mesh holds. Users get it as an events.Listener, which has the methods that
// are for them. The others are for the mesh alone: OnHint, OnWake and OnGive call without a buffer,
// Register lets the mesh add what it found out by itself, Connections counts the connections, and
// Renew replaces the present one when the mesh has moved to another server.
//
// # Two kinds of calls
//
// On, OnMesh and Register give each registration a buffer and, while events wait in it, a
// goroutine. The callback may block.
//
// OnHint, OnWake, OnGive and OnReady are called by the goroutine that reads the connection. What
// was read is never dropped for them, and no hand-over delays them. While one of them runs nothing
// is read, so it must only set a flag or fill a channel that has room. It must not wait for
// anything, not even for another event.
//
// # Goroutines
//
// New starts none. Run owns the reader and the writer of each connection, and one goroutine for
// each callback that has events waiting, which ends when they are delivered. Run returns when all
// of them have returned. When its context ends, the events that still wait are discarded.
package subscribe

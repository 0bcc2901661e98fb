// Package pipeline lets many callers share a few redigo connections: one goroutine writes what is
// queued and flushes once, one reads the answers in order. So 64 concurrent callers cost one write.
//
//	Do ──┐                 ┌── link (one connection) ──┐
//	Do ──┼─> wire.queue ──>│ writer ──> flying ──> reader ──> Answered
//	Do ──┘                 └───────────────────────────┘
//
// A request is in one place at a time: in a wire's queue, where its caller may withdraw it; in a
// link's list of what is flying, in the order in which it was written; or answered. A link that
// breaks answers all that is flying with the error, as sent: the server may have run it. It is
// never used again, so an answer can reach nobody else's request. The wire then makes a new link,
// for the next request.
package pipeline

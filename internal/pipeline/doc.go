// Package pipeline lets many callers share a few redigo connections. One goroutine writes what is
// queued and flushes once, and another reads the replies in order. So 64 concurrent callers cost
// one write.
//
//	Do ──┐                 ┌── link (one connection) ──┐
//	Do ──┼─> wire.queue ──>│ writer ──> flying ──> reader ──> Answered
//	Do ──┘                 └───────────────────────────┘
//
// A request is in one place at a time. First it is in a wire's queue, where its caller may withdraw
// it. Then it is in a link's list of flying requests, in the order in which they were written. In
// the end it is completed. A link that breaks completes all that is flying with the error, as sent:
// the server may have run it. A broken link is never used again, so no reply can reach another
// request. The wire makes a new link for the next request.
package pipeline

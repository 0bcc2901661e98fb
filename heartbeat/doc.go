// Package heartbeat decides when time is up. A holder must stop before others take over, and its
// peers take over only after it has stopped. The package knows nothing of what is held, nor of the
// server at which holder and peers meet: its user sends the beats and looks at the mesh. It imports
// the standard library only.
//
// # Words
//
// A lease is what the server keeps for a holder, for TTL after each beat. A beat renews it. The
// deadline D is the end of the holder's trust in its lease: TTL - Margin after the instant before
// its last good beat was sent. A lapse is a D that has passed. A judge is a peer that looks, in
// rounds, for holders without a lease. A judge in doubt has reason not to trust what it sees: it
// notes who is absent, and judges TTL later.
//
// # Promises
//
//   - Lease: trust ends at D. A timer ends it, and so does every call that looks; it does not wait
//     for a call to return. Nothing ends it later: no hung beat, no late reply, no sleep of the
//     host (on Linux), no step of the wall clock. A D that has passed is final.
//   - Judge: it declares no holder dead before the holder's D, whatever the clocks of the server
//     and of the judge's own host do, as long as monotonic clocks agree within Margin/2 over one
//     TTL. The proof, and what it does not cover, stands at Judge.
//   - Judge: every dead holder is declared dead. Without doubt this happens in the first round that
//     misses it. In doubt it happens TTL later, also in a mesh of one, by a judge that has only
//     just started, or when most of the mesh is gone at once.
//   - Watch: one round at a time, jittered, and no burst of rounds after a stall.
//
// No wall clock and no clock of another host decides anything here.
//
// # Not promised
//
// A process may pause for any time between a call of Valid and the act that follows. What lies
// outside the server has to be fenced by a token. The package has no elections, locks or quorums:
// it assumes that the server is one.
//
// # A lease's life
//
//	New ──Keep──> trusted ──┬─ D passed ───────> ended, ErrExpired
//	                 ^      ├─ beat: ErrLost ──> ended, ErrLost
//	                 └─ ok ─┴─ ctx ended ──────> ended, its cause
//
// An ended lease never lives again: its owner joins under a new id, with a new Lease.
//
// # Goroutines
//
// Constructors start nothing. Lease.Keep runs in the caller's goroutine and owns one more, for the
// beat under way, which it waits for (the documentation of Keep names the one exception). Watch.Run
// runs its rounds in the caller's goroutine. Judge starts none.
package heartbeat

// Package heartbeat decides that time is up: for a holder, who must stop before others take over,
// and for its peers, who take over only when it has stopped. It knows nothing of what is held, nor
// of the server that the two meet at: its owner sends the beats and does the looking. Standard
// library only.
//
// # Words
//
// A lease is what the server lists for a holder, for TTL after each beat. A beat renews it. The
// deadline D is how long the holder trusts it: TTL - Margin from before the last good beat was
// sent. A lapse is a D that passed. A judge is a peer that looks at who has no lease any more, in
// rounds. A judge in doubt has reason not to believe its eyes: then it takes note first, and judges
// TTL later.
//
// # Promises
//
//   - Lease: trust ends at D, by a timer and by whoever asks, not when some call returns. Nothing ends it later: no hung
//     beat, no late answer, no sleep of the host (on Linux), no step of the wall clock. D once passed is final.
//   - Judge: it calls nobody dead before his D, whatever the clocks of the server and of its own host do, as long as
//     monotonic clocks run alike within Margin/2 over one TTL. The argument, and what it does not cover, stands at Judge.
//   - Judge: everyone dead is called dead. Without doubt in the first round that misses him; in doubt TTL later, also by
//     a mesh of one, a judge that has only just come, or with most of the mesh gone at once.
//   - Watch: one round at a time, jittered, and no burst after a stall.
//
// No wall clock and no clock of another host decides anything here.
//
// # Not promised
//
// Between a look at Valid and the act that follows, a process may pause for any time. What lies
// outside of the server has to be fenced by a token. Elections, locks and quorums are not here: the
// server is taken to be one.
//
// # A lease's life
//
//	New ──Keep──> trusted ──┬─ D passed ───────> ended, ErrExpired
//	                 ^      ├─ beat: ErrLost ──> ended, ErrLost
//	                 └─ ok ─┴─ ctx ended ──────> ended, its cause
//
// An ended lease never lives again: its owner joins as somebody new, with a new Lease.
//
// # Goroutines
//
// Constructors start nothing. Lease.Keep works in the caller's goroutine and owns one more, for the
// beat under way, which it waits for (the one exception stands there). Watch.Run runs its rounds in
// the caller's. Judge has none.
package heartbeat

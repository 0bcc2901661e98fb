// Package witness is an independent witness of who holds what. Each holder states over its own
// connection on loopback "I hold X, token T". The witness places the statements of all of them on
// one clock, and reports moves, gaps and overlaps. It knows nothing of the mesh or of Redis, so it
// shares no mistake with them. It runs in the process of a test, or in one of its own ([Ask] gets
// its report from there).
//
// # Words
//
//	Hold ── "begin" b ──► held ── "still" l, l', l" .. ──► Done ── "end" e ──► ended
//	                       │  └─ valid is false: "refused" r ─► stopping ─ "end" e ─► ended
//	                       ├─ nothing is heard: silent ─ it speaks again ─► held or stopping
//	                       └─ the connection ends: cut
//
// A span is one hold by one holder: from its begin until it ended or was cut. Between b and the
// last l it was certainly held: the holder has stated so itself. Between the last l and r it may
// have been held. Without an r this stretch lasts until e, and without either until the end of the
// connection. Between r and e it was no longer held by the holder's own statement, but the holder
// has not stated that it stopped.
//
// What a statement proves. Every statement carries the holder's clock, read BEFORE valid was
// called. valid never goes back from false to true. So true proves that the holder held at the
// instant on the statement, however late valid was called and however late the statement came. A
// holder that was paused at any point between the two, or whose socket was full, therefore counts
// as holding until that instant and not longer. Begin: the holder has X, and states so before it
// acts on it. End: it has stopped acting. valid is then called once more, and if it is still true
// the hold lasted until e exactly. A hold whose valid is false at once is not stated at all.
//
// One message per tick states "still all of these": it names the highest hold that was checked and
// those that refused. So it costs the witness the same for one hold as for ten thousand.
//
// # When it was stated
//
// The witness places each statement on its own clock, between an earliest and a latest instant.
// Holders on the same machine read the same clock that nobody can set, so both instants are equal.
// For others, and where there is no such clock, the offset is measured by round trips, at the start
// and after every tick, and widened by what two clocks can drift apart. No statement is placed
// later than it was received.
//
// # What a report means
//
//   - overlap: two spans of one key were certainly held at once, whatever the clocks' uncertainty.
//     It is an error.
//   - possible overlap, with its reason. "clock": only the uncertainty of the clocks leaves it
//     open. "silent": a holder stated nothing while another began, and stated later that it no
//     longer holds (a frozen holder: it did nothing in that time, but the witness cannot know
//     that). "stopping": it had stated that it no longer holds, but not that it had stopped. The
//     overlap is Open while statements still to come can change it.
//   - fall: a span whose token is not above those of all spans that began before it.
//   - move: a key goes from one span to the next in the order of begins. It is a return when the
//     holder's name is the same. The gap runs from the latest instant at which anyone certainly
//     held it before to the new begin: exact after an end, at most one tick too long after a death.
//     It is counted under the reason that the new holder stated.
//   - lost: nobody certainly held the key for longer than Config.Lost, then or now.
//   - cut: a connection ended with holds on it. Each holder that died adds as many; a test knows
//     how many it expects.
//   - late: statements that came more than one interval after their instant.
//   - fault: what the witness could not judge. A test that sees one has no proof.
//
// # What the network can do to it
//
// It can delay statements: they count from their own instant. A report that is made too early shows
// an overlap as possible and Open, never as none. [Teller.Sync] waits until everything stated
// before is in the report. It cannot lose or reorder statements within a connection; the sequence
// numbers would show it. It can end the connection: the teller does not dial again, because the
// witness could not know what it missed. Err then returns an error, and the spans are cut. The end
// of the connection is taken as the last instant at which the holder can have held. That is true of
// a dead process, and not of a live one behind a broken network: for this reason the witness is for
// loopback.
//
// # Memory
//
// For each key it keeps the open spans and the latest Config.Keep others. The rest is folded into
// totals and histograms. A begin that comes so late that it could meet a folded span is a fault.
//
// # Goroutines
//
// A Teller has three: one ticks, one writes, one reads. Close waits for them. Serve has one for
// each connection, and returns when all have ended.
package witness

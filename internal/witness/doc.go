// Package witness is an outside witness of who holds what. Every holder tells it over its own
// connection on loopback "I hold X, token T"; it puts the statements of all of them side by side on
// one clock and reports moves, gaps and overlaps. It knows nothing of the mesh or of Redis, so it
// shares no mistake with them. It runs in the process of a test, or in one of its own ([Ask] gets
// its report from there).
//
// # Words
//
//	Hold ── "begin" b ──► held ── "still" l, l', l" .. ──► Done ── "end" e ──► ended
//	                       │  └─ valid says no: "refused" r ─► stopping ─ "end" e ─► ended
//	                       ├─ nothing is heard: silent ─ it speaks again ─► held or stopping
//	                       └─ the connection ends: cut
//
// A span is one hold by one holder: from its begin until it ended or was cut. Held for certain is
// what lies between b and the last l: the holder has said so itself. It is open what was between l
// and r, or e when there was no r, or the end of the connection when there was neither: the holder
// may have held. Between r and e it holds no more by its own word, but has not said that it
// stopped.
//
// What a statement proves. Every statement carries the holder's clock, read BEFORE valid was asked.
// valid never goes back from no to yes, so a yes proves that the holder held at the instant on the
// statement, however late it was asked and however late the statement came. So a holder that was
// paused at any point between the two, or whose socket was full, is counted as holding until that
// instant and not longer. Begin: the holder has X and says so before it acts on it. End: it has
// stopped acting; valid is asked once more, and when it still says yes the hold lasted until e
// exactly. A hold whose valid says no at once is not told at all.
//
// One message per tick says "still all of these": it names the highest hold that was asked and
// those that refused. So it costs the witness the same for one hold as for ten thousand.
//
// # When it was said
//
// The witness places each statement on its own clock, between an earliest and a latest instant.
// Holders on the same machine read the same clock that nobody can set, so both are equal. For
// others, and where there is no such clock, the offset is measured by round trips, at the start and
// after every tick, and widened by what two clocks can drift apart. No statement is placed later
// than it was received.
//
// # What a report means
//
//   - overlap: two spans of one key were certainly held at once, whatever the clocks' uncertainty. It is an error.
//   - possible overlap, and why: "clock" when only the uncertainty of the clocks leaves it open; "silent" when a holder
//     said nothing while another began, and said later that it holds no more (a frozen holder: it did nothing in that
//     time, but the witness cannot know that); "stopping" when it had said that it holds no more, but not that it had
//     stopped. It is Open while what they have still to say can change that.
//   - fall: a span whose token is not above those of all spans that began before it.
//   - move: a key goes from one span to the next in the order of begins; a return when the holder's name is the same.
//     The gap runs from the latest instant at which anyone certainly held it before to the new begin: exact after an
//     end, at most one tick too long after a death. It is kept by the reason that the new holder gave.
//   - lost: nobody certainly held the key for longer than Config.Lost, then or now.
//   - cut: a connection ended with holds on it. Every holder that died gives as many; a test knows how many it expects.
//   - late: statements that came more than one interval after their instant.
//   - fault: what the witness could not judge. A test that sees one has no proof.
//
// # What the network can do to it
//
// Delay statements: they count from their own instant, and a report that is made too early shows
// the overlap as possible and Open, never as none; [Teller.Sync] waits until everything said before
// is in the report. Lose or reorder them: not within a connection; the sequence would tell. End the
// connection: the teller does not dial again, as the witness could not tell what it missed; Err
// says so, the spans are cut. The end of the connection is taken as the last instant at which the
// holder can have held, which is true of a dead process and not of a live one behind a broken
// network: that is why it is for loopback.
//
// # Memory
//
// Of every key it keeps the open spans and the latest Config.Keep others; the rest is folded into
// totals and histograms. A begin that comes so late that it could meet a folded span is a fault.
//
// # Goroutines
//
// A Teller has three: one ticks, one writes, one reads; Close waits for them. Serve has one for
// each connection, and returns when all have ended.
package witness

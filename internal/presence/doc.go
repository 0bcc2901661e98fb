// Package presence tells within half a second that a process has ended, by what its kernel does for
// it: it closes the connections. Each worker keeps one that carries nothing but a subscription
// (Line), and one judge counts the subscriptions of all (Watch). This is the part of Fast takeover
// that knows no queue. It never replaces the lease of package heartbeat: it only lets peers act
// sooner, on what was marked for it.
//
// # Who may conclude what
//
//   - Up says yes: the kernel had no end of the connection at that instant. The holder may act, while its lease is valid too.
//   - Up says no: it may not act now. Whether it has lost is not known yet.
//   - Lost: others may take over. What was held Fast ends; what is held Strict rests on the lease and goes on.
//   - Back: Up is true for the first time since Reset, or again in time.
//   - Dead: who takes over asks the server once more in one step, as Findings.Dead says, and fences in the same step.
//
// # Why two do not hold at once
//
// The server ends the subscription at x, and its FIN is here at a. The line looks every Grace/4,
// reading the clock before it asks the kernel: so the last look that found the connection
// established, g, lies before a, however long this process stood still afterwards. Lost comes at g
// + HolderGrace at the latest, by a timer. The judge counts from when an answer had arrived that
// missed the worker, so from x or later, and what it says comes JudgeGrace later. There are 100 ms
// between x + HolderGrace and x + JudgeGrace: for the FIN's way a - x, the timer, and the handlers'
// return.
//
// A holder that is back in time must not be taken over for its last absence. Check sees to that,
// after each subscription: it beats, which moves the end of the heartbeat, so that a rescue from
// before, also one still on its way in some buffer, finds another end than it was told and does
// nothing; and then it asks whether one came first. From there on nobody can be rescued while the
// server counts the subscription.
//
//   - SIGKILL: the kernel closes the connection at once. Nobody is left to overlap.
//   - SIGSTOP: the connection stays, the server counts on, nobody is suspected: only the lapse helps.
//   - The server ends the connection while the process stands still: the FIN changes the kernel's state without it. Up is
//     false in the first statement after SIGCONT, and Lost comes with the first look, as g lies before the pause. A line
//     that went by its reader would say yes until that had been scheduled: so two held at once in 12 runs of a prototype.
//   - The server restarts, or a proxy before it: more than half are missed at once, and nobody is judged. Each holder that is
//     not back in time is lost by its own clock all the same, as it cannot know what others see.
//   - A judge that is late, or that the server does not count itself, begins each suspicion anew.
//
// # Where they can
//
// In one case: the server ends the connection, or what is between does so, and the FIN does not
// arrive in the margin. The network lost it, or the holder's whole host stood still. The kernel
// then says established and nobody knows better, until a sign of life is missed: Lost comes Silence
// after the last one at the latest. The overlap is at most Silence - JudgeGrace and the handler's
// return, 2.45 s by default; less when the FIN comes late, when its lease ends, or when the
// holder's next look is answered with FENCED. A Silence below JudgeGrace - Margin leaves nothing,
// and costs a ping every 100 ms. Where Kernel is false, a pause between two instructions is noticed
// only when longer than Grace/2.
//
// # Goroutines
//
// Line.Run works in the caller's and owns two, for the reader and the writer of its one connection;
// they have ended when it returns. Watch has none, and does no I/O.
package presence

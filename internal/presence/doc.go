// Package presence detects within half a second that a process has ended, because its kernel then
// closes its connections. Each worker keeps one connection that carries nothing but a subscription
// (Line). One judge counts the subscriptions of all workers (Watch). This is the part of Fast
// takeover that knows no queue. It never replaces the lease of package heartbeat: it only lets
// peers act sooner, on what was marked for it.
//
// # Who may conclude what
//
//   - Up is true: at that instant the kernel knew of no end of the connection. The holder may act,
//     while its lease is valid too.
//   - Up is false: the holder may not act now. Whether it has lost is not known yet.
//   - Lost: others may take over. What was held Fast ends. What is held Strict rests on the lease
//     and goes on.
//   - Back: Up is true for the first time since Reset, or again in time.
//   - Dead: a peer that takes over asks the server once more in one step, as the comment of
//     Findings.Dead requires, and fences in the same step.
//
// # Why two do not hold at once
//
// The server ends the subscription at x, and its FIN arrives here at a. The line looks every
// Grace/4, and reads the clock before it asks the kernel. So the last look that found the
// connection established, at g, lies before a, however long this process stood still afterwards.
// Lost is called at g + HolderGrace at the latest, by a timer. The judge counts from the arrival of
// a reply that missed the worker, so from x or later, and declares the worker dead JudgeGrace
// later. Between x + HolderGrace and x + JudgeGrace lie 100 ms: for the FIN's way a - x, the timer,
// and the handlers' return.
//
// A holder that is back in time must not be taken over for its last absence. Check prevents that,
// after each subscription. First it beats, which moves the end of the heartbeat. A rescue from
// before, also one still on its way in some buffer, then finds another end than the one it was sent
// with, and does nothing. Then Check asks whether a rescue came first. From there on nobody can be
// rescued while the server counts the subscription.
//
//   - SIGKILL: the kernel closes the connection at once. No holder is left to overlap.
//   - SIGSTOP: the connection stays, the server goes on counting it, and nobody is suspected. Only
//     the lapse helps.
//   - The server ends the connection while the process stands still: the FIN changes the kernel's
//     state without the process. Up is false in the first statement after SIGCONT. Lost is called
//     at the first look, because g lies before the pause. A line that relied on its reader would be
//     up until the reader had been scheduled: because of that, two held at once in 12 runs of a
//     prototype.
//   - The server restarts, or a proxy before it: more than half are missed at once, and nobody is
//     judged. A holder that is not back in time is still lost by its own clock, because it cannot
//     know what others see.
//   - A judge that is late, or that the server does not count itself, starts each suspicion again.
//
// # Where they can
//
// There is one case: the server, or something on the way, ends the connection, and the FIN does not
// arrive within the margin. The network lost it, or the holder's whole host stood still. The kernel
// still reports the connection as established, and the holder cannot know better until a sign of
// life is missed. Lost is called Silence after the last one at the latest. The overlap is at most
// Silence - JudgeGrace and the handler's return, 2.45 s by default. It is shorter when the FIN
// comes late, when the holder's lease ends, or when its next look is refused with FENCED. A Silence
// below JudgeGrace - Margin leaves no overlap, and costs a ping every 100 ms. Where Kernel is
// false, a pause between two instructions is noticed only when it is longer than Grace/2.
//
// # Goroutines
//
// Line.Run runs in the caller's goroutine and owns two more, for the reader and the writer of its
// one connection. They have ended when it returns. Watch starts none, and does no I/O.
package presence

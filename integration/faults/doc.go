// Package faults runs randomized faults against meshes that hold persistent tasks. It checks from
// outside whether a task was ever held twice, or by nobody for good. It contains only tests.
//
//	make faults RUNS=1000
//
// # One run
//
// A small mesh, 2 to 4 worker processes and 6 to 20 tasks with a lease of 300 ms to 1 s, suffers
// one to four faults at random instants. A worker is killed, frozen once or again and again,
// drained, added or failed by hand, or its clock steps. Its connection for beats, for data or for
// notifications is cut in one direction or both, is slow, or repeats itself. Redis stands still, or
// its clock steps, up to an hour back. A replica takes the place of Redis, with a clock of its own,
// and all connections stay open. Then everything is healed and checked:
//
//   - Every task is held again, by exactly one worker; else it is lost.
//   - No two workers held a task at once. An outside witness shows it, to which each holder speaks
//     directly, and so do the records that each holder writes into shared memory.
//   - After a lapse the next holder began at least half the margin after the last instant at which
//     the previous one may have acted: its deadline, whether it lived until then or not.
//   - A holder that gave a task up had stopped before the next began.
//   - The tokens of a task rise with its holds.
//
// The same mesh then goes on with the next run. Effects of earlier faults may still appear then:
// that is intended.
//
// # A careful holder
//
// A holder calls Process.Valid before each claim "I hold". So however late a claim is made, it is
// true at the instant that was read before; and a worker that was frozen claims nothing when it
// wakes.
//
// # Environment
//
//   - WORQR_FAULT_RUNS: how many runs. Unset: 30 with a fixed seed and 30 with a random one.
//   - WORQR_FAULT_SEED: repeats the faults of a seed. What the workers make of them is never the
//     same twice.
//   - WORQR_FAULT_MESHES: how many meshes run at once.
//   - WORQR_FAULT_KINDS: only these kinds of faults, as fault_test.go names them, with commas; or
//     all but these, each with a minus before it.
//   - WORQR_FAULT_FAST: not empty: Fast takeover. It is only checked that no two claim a task, and
//     that none is lost. There are no demotions, as no replica knows of the connections for
//     presence.
//   - WORQR_FAULT_STOP: not empty: no more runs after the first that fails.
//
// It needs Linux: one clock that all processes share, and processes that die with their parent.
package faults

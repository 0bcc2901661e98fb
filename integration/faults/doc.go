// Package faults runs randomized faults against meshes that hold persistent tasks, and looks from
// outside whether a task was ever held twice, or by nobody for good. Only tests are in it.
//
//	make faults RUNS=1000
//
// # One run
//
// A small mesh, 2 to 4 worker processes and 6 to 20 tasks with a lease of 300 ms to 1 s, suffers
// one to four faults at random instants: a worker is killed, frozen once or again and again,
// drained, added, failed by hand; its clock steps; its connection for beats, for data or for
// notifications is cut in one direction or both, or late, or repeats itself; Redis stands still,
// its clock steps, up to an hour back; a replica takes its place, with a clock of its own, and all
// connections stay open. Then all is healed and checked:
//
//   - every task is held again, by exactly one worker; else it is lost
//   - no two workers held a task at once: an outside witness says so, to whom each holder speaks directly, and the
//     records do that each holder writes into shared memory
//   - after a lapse the next holder began half the margin or more after the last instant at which the one before may
//     have acted: its deadline, whether it lived until then or not
//   - a holder that gave a task up had stopped before the next began
//   - the tokens of a task rise with its holds
//
// The same mesh then goes on with the next run. Faults may still echo then: that is intended.
//
// # A holder that is careful
//
// It asks Process.Valid before each claim "I hold". So however late a claim is made, it is true at
// the instant that was read before; and a worker that was frozen claims nothing when it wakes.
//
// # Environment
//
//   - WORQR_FAULT_RUNS: how many runs. Unset: 30 with a fixed seed and 30 with a random one.
//   - WORQR_FAULT_SEED: repeats the faults of a seed. What the workers make of them is never the same twice.
//   - WORQR_FAULT_MESHES: how many meshes run at once.
//   - WORQR_FAULT_KINDS: only these kinds of faults, as fault_test.go names them, with commas; or all but these, each
//     with a minus before it.
//   - WORQR_FAULT_FAST: not empty: Fast takeover, of which only is asked that no two claim a task, and that none is lost;
//     without demotions, as no replica knows of the connections for presence.
//   - WORQR_FAULT_STOP: not empty: no more runs after the first that fails.
//
// It needs Linux: one clock that all processes share, and processes that die with their parent.
package faults

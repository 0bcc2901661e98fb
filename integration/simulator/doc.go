// Package simulator attacks the order in which things happen. It holds tests only.
//
// The schedule simulator drives the scripts of package worqr, as they are, on a real Redis:
// workers, peers that reclaim, producers and cancellers, each a coroutine that may die between any
// two of its commands, and a network that delivers any command but an enqueue a second time, late,
// or after its sender's death. One schedule is a few dozen commands in a random order that its seed
// gives; the state is read and judged after each of them. The same schedules on the embedded
// default must give the same replies.
//
// Schedules of persistent tasks have more who take part: who reconciles, who watches the presence
// of the others, and holders that write checkpoints and offer what they hold. After each command
// a task that is present waits, is delayed, or is in hand; one process has it, but for those that
// offered it before; and no checkpoint goes back. What each script does to the queue is foretold
// and compared. Time passes when the schedule says so.
//
// The boundary test works with the library's own objects: for each operation, a fault of each kind
// at each of its commands, and then the mesh has to recover.
//
// WORQR_SEED=n runs only the schedule of that seed and prints its commands. WORQR_SCHEDULES=n runs
// n of each kind instead of the default, which is a tenth under the race detector: it has nothing to
// find in the scripts, and makes all this slow.
package simulator

// Package adapter is what the programs of all peers have in common: the flags, the modes, and one
// line of JSON as the result. It imports the standard library only, so that it adds nothing to what
// a peer brings along.
//
// A program describes its library by a Peer and calls Main. Each mode measures one figure:
//
//	enqueue   producers alone: one task per call
//	drain     consumers alone: the tasks are there before
//	mixed     both at once, in one process
//	wake      from the call of enqueue to the start of the handler, everything idle before
//	idle      what a consumer with nothing to do sends
//	memory    what Redis needs for a task that waits
//	hands     what it needs for one in hand
//	commands  what reaches Redis for a task, counted by MONITOR
//	pipeline  one trivial script, called by many at once
//	hold      take one task and keep it, until killed
//	rescue    wait for that task
//
// A task counts as finished when its handler is at its end, unless the peer's program knows when
// the task was settled. The clock of a rate starts when a first task is finished, so it includes no
// start-up.
package adapter

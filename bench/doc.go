// Bench runs this library beside its peers, on the same Redis, in the same minutes, and writes down
// what came out.
//
//	go run .            all of it, about half an hour: tables, charts and JSON into ../docs/benchmarks
//	QUICK=1 go run .    the ratios at 64, under a minute
//	go run . -h         what else there is
//
// Each peer is a program of its own, in its own module under peers/: one that cannot be fetched or
// built is named as skipped, and breaks nothing. This program builds them, starts a Redis without
// persistence on a free port, and has them run one after the other, round after round (A, B, C, A,
// B, C, ...), so that what else the machine does meets them all. What it tells are medians over the
// rounds, and ratios of medians of the same run.
//
//	build.go   programs from peers/              figures.go  what was measured, and medians of it
//	server.go  the Redis; postgres.go            ratios.go   ours over theirs
//	run.go     one program, one result           report.go   the page; chart.go the pictures
//	plan.go    what is run, in which order       kill.go     how long after a kill its task runs again
package main

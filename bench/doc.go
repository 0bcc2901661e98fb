// Bench runs this library beside its peers, on the same Redis, in the same minutes, and writes the
// results.
//
//	go run .            all of it, half an hour: tables, charts and JSON into ../docs/benchmarks
//	QUICK=1 go run .    the ratios at 64, under a minute
//	go run . -h         the other flags
//
// Each peer is a program of its own, in its own module under peers/. A peer that cannot be fetched
// or built is listed as skipped, and does not stop the run. Bench builds the programs and starts a
// Redis without persistence on a free port. It runs the programs one after the other, round after
// round (A, B, C, A, B, C, ...), so that other load of the machine meets them all. It prints
// medians over the rounds, and ratios of medians of the same run.
//
//	build.go   programs from peers/              figures.go  what was measured, and medians of it
//	server.go  the Redis; postgres.go            ratios.go   ours over theirs
//	run.go     one program, one result           report.go   the page; chart.go the pictures
//	plan.go    what is run, in which order       kill.go     from a kill to the task's next run
package main

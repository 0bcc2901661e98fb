// Package examples holds small programs, each one usage of the mesh, each runnable with no
// argument:
//
//	go run ./examples/mesh       four worker processes; one is killed, one frozen, and not a task is lost
//	go run ./examples/feeds      connections, each held by one of four processes; one is killed, one added, one drained
//	go run ./examples/daemon     the daemon's way: handlers, limits, Run
//	go run ./examples/callbacks  verb by verb: On, StartWork, Take, Finish
//	go run ./examples/producer   a program that only enqueues
//
// They bring a Redis of their own, inside the program, unless REDIS_URL names one.
package examples

// Package examples holds small programs to copy, each one usage of the mesh, each runnable with no
// argument:
//
//	go run ./examples/daemon     the daemon's way: handlers, limits, Run
//	go run ./examples/callbacks  verb by verb: On, StartWork, Take, Finish
//	go run ./examples/hold       persistent tasks: connections that are held, with checkpoints
//	go run ./examples/producer   a program that only enqueues
//
// They bring a Redis of their own, inside the program, unless REDIS_URL names one: that is what
// local.Redis is for. Your program calls worqr.Open with the URL of its Redis.
package examples

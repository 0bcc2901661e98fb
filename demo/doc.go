// Package demo holds programs to watch: what the mesh does when processes die.
//
//	go run ./demo/mesh   four workers; one is killed, one frozen, and not a task is lost
//	go run ./demo/feeds  connections that four processes hold; one is killed, one drained
//
// They bring a Redis of their own, inside the program, unless REDIS_URL names one. What to copy is
// in the folder examples.
package demo

// Package worqrtest opens a mesh for the tests of programs that use package worqr. It needs no
// Redis: the mesh runs on a server inside the test process.
//
//	func TestOrdersAreShipped(t *testing.T) {
//		mesh := worqrtest.NewMesh(t)
//		...
//	}
//
// # What the server is
//
// The server is miniredis, which imitates Redis: it is not Redis. It runs the scripts of the mesh,
// and its keys expire, so the code of a program can be tried from Enqueue to Finish, with several
// workers, cancels and lapses. It keeps nothing. It has no memory limit, no rights, no persistence
// and no replicas, and its speed says nothing about Redis. What must hold on Redis is tested on
// Redis.
//
// # The same tests on Redis
//
// When the environment variable WORQR_TEST_REDIS_URL is set, as to redis://localhost:6379/0, the
// mesh is opened on that server instead. Each mesh then has a namespace of its own, which begins
// with "worqrtest-", and its keys are removed at the end.
//
// Only tests import this package. A program that imports only worqr does not link the server.
package worqrtest

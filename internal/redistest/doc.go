// Package redistest provides a test with a real Redis, faults for it, and other processes that talk
// to it.
//
// # Which Redis
//
// One server is shared by all tests of a test binary. It starts at its first use and stops in
// [Main]. Every test works under a namespace of its own ([Namespace]), so tests run in parallel and
// leave no key. The source of the server is chosen once, in this order, and printed in one line on
// stderr:
//
//  1. WORQR_TEST_REDIS_URL: a server that runs already. It is never stopped, flushed or
//     reconfigured.
//  2. A container, when a Docker daemon replies. The image is redis, present or pulled, else made
//     from the redis-server of this machine. WORQR_TEST_REDIS_IMAGE names another one.
//  3. A redis-server process: WORQR_REDIS_SERVER, or the one in PATH, or
//     .cache/redis/usr/bin/redis-server in a folder above.
//
// WORQR_TEST_BACKEND = url, docker, process or auto forces one. If there is none, a test fails and
// its message explains what to do; it is never skipped.
//
// # A server of one's own
//
// A test that configures, flushes, restarts, pauses or kills its server uses [Own]. One that needs
// a broken network path uses [Container]. For a broken connection there is [NewProxy], for another
// process [StartChild].
//
// # Nothing is left behind
//
// A server or child process dies with the test binary, also when that is killed: the kernel sends
// it SIGKILL (Linux). A container has an end: the daemon stops it a minute after the timeout of the
// tests. A later run removes stopped containers and the folders of killed servers.
//
// Only tests import this package.
package redistest

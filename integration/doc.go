// Package integration holds the tests of whole meshes: workers in processes of their own (killed,
// frozen, restarted), a real Redis (restarted, flushed of its scripts, cut off), and what an
// outside witness sees of them. Each test names the scenario that it covers.
//
// Nothing is mocked. The other processes are this test binary itself, see child_test.go. The faults
// on the way to Redis come from internal/redistest. Only TestInTime asserts times: no test runs
// beside it.
//
// WORQR_LONG=1 makes the storm last a minute instead of 20 s. WORQR_SEED repeats what was drawn at
// random.
package integration

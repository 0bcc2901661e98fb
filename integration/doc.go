// Package integration holds the tests of whole meshes: workers in processes of their own (killed,
// frozen, restarted), a real Redis (restarted, flushed of its scripts, cut off), and what an
// outside witness sees of it. Each test names the
// scenario that it shows.
//
// Nothing is mocked. The other processes are this test binary itself, see child_test.go; the faults
// on the way to Redis come from internal/redistest. Times are asserted in the tests of TestInTime
// alone, which run with no test beside them.
//
// WORQR_LONG=1 makes the storm last a minute instead of 20 s. WORQR_SEED repeats what was drawn at
// random.
package integration

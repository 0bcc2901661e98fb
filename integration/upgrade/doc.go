// Package upgrade runs daemons of an older revision beside those of this one, on the same queues,
// and replaces the ones by the others: tasks and holds move both ways, and none is lost or held
// twice. It has tests only.
//
// The older revision comes out of the repository's history. Where that is missing, as in an archive
// of the sources, the test is skipped and says so.
package upgrade

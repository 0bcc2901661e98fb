// Package conformance holds the scripts against the pages that describe them to clients in other
// languages. It has tests only, and they know nothing of the Go client: they have a connection,
// docs/protocol.md, docs/conformance.md and the files in internal/wire/lua.
//
// The scripts are assembled as the first page says. The second page is a list of numbered checks
// with the calls to make and the answers that must come: each one is run here, line by line, under
// a namespace of its own.
package conformance

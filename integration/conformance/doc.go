// Package conformance compares the scripts with the pages that describe them to clients in other
// languages. It contains only tests, and they know nothing of the Go client: they use a connection,
// docs/protocol.md, docs/conformance.md and the files in internal/wire/lua.
//
// The scripts are assembled as the first page requires. The second page is a list of numbered
// checks with the calls to make and the replies that must come. Each check is run here, line by
// line, under a namespace of its own.
//
// The files of the folder rules use the same lines for the rare cases of each script, which no
// client has to know.
package conformance

// Package wire is all that this module knows of what goes between a client and Redis: the scripts,
// the names of keys and channels, the commands, the words of refusals, and where in a reply what
// stands. docs/protocol.md says the same to clients in other languages.
//
// The scripts lie in lua. The folder of a script says what it needs:
//
//	lua/mesh   works in the slot of the mesh, on its own
//	lua/queue  works in the slot of a queue, behind lib.lua
//	lua/hold   works in the slot of a queue, behind lib.lua and hold.lua
package wire

// Protocol is the version of keys and scripts. A mesh refuses a worker that speaks another one.
const Protocol = "1"

//go:build race

package simulator

// slow: the race detector makes everything here several times slower, and has nothing to find in
// the scripts.
const slow = true

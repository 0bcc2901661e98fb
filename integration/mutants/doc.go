// Mutants asks of the tests whether they would notice a wrong line. It makes one small mistake at a
// time in the scripts and in the fences of the library, and runs the quickest tests first, until
// one fails. A mistake that every test passes has no test.
//
//	go run ./integration/mutants -only leave.lua -json result.json
//
// It works on a copy of the tree in a temporary folder, never on the tree itself. In the copy the
// scripts are read from their files and not embedded, so the test binaries are compiled once for
// all mistakes in scripts; one in Go is compiled each time.
//
// All mistakes climb the ladder together: the first step is run for each of them, the second one
// for those that are left. So a run that ends early has tried the quick tests on all. Tests that
// only compare a text with a copy of it are left out: they would notice every mistake, and prove
// nothing. The failure of a test that is not quick counts when it comes twice, for it may be that
// the machine is busy. A mistake that makes the tests hang counts as caught.
//
// The file accepted.txt names mistakes that no test can notice, each with its reason: a second line
// of defence behind another one, or a line of which both ends are right.
package main

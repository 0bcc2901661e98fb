// Package guard holds the tests that keep the structure as docs/decisions describes it: what the
// library links, which part alone may publish, send commands, subscribe, and decide that time is
// up, and how comments are worded.
package guard

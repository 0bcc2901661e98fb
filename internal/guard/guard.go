// Package guard holds the tests that keep the structure as docs/decisions describes it: what the
// library links, and who alone may publish, send commands, subscribe, and decide that time is up.
package guard

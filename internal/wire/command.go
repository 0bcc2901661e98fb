package wire

import (
	"slices"
	"strings"
)

// Command returns what follows the name of the command that runs a script: its arguments are those
// that all scripts of a slot have in common, and its own.
func (s *Script) Command(key string, args []any, common ...any) []any {
	words := append(make([]any, 0, 3+len(common)+len(args)), s.SHA, 1, key)
	return append(append(words, common...), args...)
}

// Run sends a script by its digest, and by its source when the server does not know it: that one
// was not run, so nothing is repeated, and EVAL also stores it.
func (s *Script) Run(send func(name string, words []any) (any, bool, error), words []any) (any, bool, error) {
	reply, sent, err := send("EVALSHA", words)
	if UnknownScript(err) {
		words = slices.Clone(words) // of an attempt that was late the writer may still read them
		words[0] = s.Source
		reply, sent, err = send("EVAL", words)
	}
	return reply, sent, err
}

// UnknownScript reports whether the server does not know the digest that it was asked to run.
func UnknownScript(err error) bool {
	refusal, refused := refusalIn(err)
	return refused && strings.HasPrefix(refusal.Error(), "NOSCRIPT")
}

//go:build race

package model

// The race detector makes the embedded default ten times slower.
const (
	sequences     = 500
	holdSequences = 50
)

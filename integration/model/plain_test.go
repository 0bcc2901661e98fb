//go:build !race

package model

const (
	sequences     = 5000
	holdSequences = 300 // of the 5,000 that WORQR_MODEL_HOLD_SEQUENCES asks for: they cost four times as much
)

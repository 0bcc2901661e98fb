//go:build !race

package model

const sequences = 5000

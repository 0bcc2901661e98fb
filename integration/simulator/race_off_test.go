//go:build !race

package simulator

const slow = false

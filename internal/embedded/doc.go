// Package embedded is the Redis that needs none: an in-process server for
// examples, first steps and tests in virtual time. It is miniredis with its
// expiry tied to the clock.
//
// It keeps nothing, and it is never evidence for a claim about Redis: that
// needs package redistest.
package embedded

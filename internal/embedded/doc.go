// Package embedded runs an in-process server in place of Redis, for examples, first steps and tests
// in virtual time. It is miniredis with its expiry tied to the clock.
//
// It keeps nothing, and it is never evidence for a claim about Redis: that needs package redistest.
package embedded

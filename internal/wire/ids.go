package wire

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
)

// MembershipID is the id of the n-th membership of a worker: its owner is legible in it.
func MembershipID(worker string, n int64) string { return worker + "." + strconv.FormatInt(n, 10) }

// ProcessID is the id of a process of a membership.
func ProcessID(membership string, number int64) string {
	return membership + "." + strconv.FormatInt(number, 10)
}

// WorkerOf returns whose membership, or whose process, this is.
func WorkerOf(id string) string {
	worker, _, _ := strings.Cut(id, ".")
	return worker
}

// LaterMembership compares two memberships of one worker: their numbers rise, so the longer one is
// later, and of two equally long ones the greater.
func LaterMembership(a, b string) bool {
	if len(a) != len(b) {
		return len(a) > len(b)
	}
	return a > b
}

// Fingerprint is the name under which a cancel marks a task: what the scripts call redis.sha1hex.
func Fingerprint(task []byte) string {
	sum := sha1.Sum(task)
	return hex.EncodeToString(sum[:])
}

// NumberOf returns the number of a process, if it is one of a membership.
func NumberOf(membership, process string) (number int64, ours bool) {
	digits, ours := strings.CutPrefix(process, membership+".")
	if !ours {
		return 0, false
	}
	number, err := strconv.ParseInt(digits, 10, 64)
	return number, err == nil
}

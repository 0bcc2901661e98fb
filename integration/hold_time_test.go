package integration

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// longer returns the size of a test by default or that with WORQR_LONG.
func longer(usual, long int) int {
	if os.Getenv("WORQR_LONG") != "" {
		return long
	}
	return usual
}

// quantiles returns the 50th and the 99th of a hundred, and a text with how long something took.
func quantiles(list []time.Duration) (half, most time.Duration, words string) {
	if len(list) == 0 {
		return 0, 0, "none"
	}
	slices.Sort(list)
	unit := 100 * time.Microsecond
	half, most = p50(list), p99(list)
	return half, most, fmt.Sprintf("%d: p50 %v, p90 %v, p99 %v, at most %v", len(list), half.Round(unit),
		list[len(list)*9/10].Round(unit), most.Round(unit), list[len(list)-1].Round(unit))
}

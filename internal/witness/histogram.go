package witness

import (
	"maps"
	"math/bits"
	"slices"
	"time"
)

// histogram counts durations by their microseconds, in buckets of at most a sixteenth of their
// value. About 700 buckets reach from a microsecond to years.
type histogram struct {
	n      int
	max    time.Duration
	bucket map[int]int
}

func (h *histogram) add(d time.Duration) {
	if h.bucket == nil {
		h.bucket = map[int]int{}
	}
	h.n++
	h.max = max(h.max, d)
	us := uint64(max(d, 0) / time.Microsecond)
	shift := max(bits.Len64(us)-5, 0)
	h.bucket[shift<<4+int(us>>shift)]++
}

func (h *histogram) clone() *histogram {
	return &histogram{h.n, h.max, maps.Clone(h.bucket)}
}

// quantile returns a duration that at least this part of all durations did not exceed: the upper
// edge of its bucket.
func (h *histogram) quantile(part float64) time.Duration {
	seen := 0
	for _, i := range slices.Sorted(maps.Keys(h.bucket)) {
		seen += h.bucket[i]
		if float64(seen) >= part*float64(h.n) {
			shift := max(i>>4-1, 0)
			edge := time.Duration((i-shift<<4+1)<<shift) * time.Microsecond
			return min(edge, h.max)
		}
	}
	return h.max
}

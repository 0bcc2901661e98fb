package share

import (
	"fmt"
	"math"
	"time"
)

// Budget limits how many moves may begin: Rate per second in the long run, Burst at once. The zero
// value works.
type Budget struct {
	Rate  float64 // moves per second. Default 10; from one an hour to a million
	Burst int     // default: what Rate brings in a second, at least 1; at most a million
}

// Bucket records what has been drawn from a budget lately. The zero value means nothing.
type Bucket struct{ Full time.Time } // when Burst moves can begin at once again

// WithDefaults fills the fields that are zero and checks the result. The error wraps ErrInvalid.
func (b Budget) WithDefaults() (Budget, error) {
	const least, most = 1.0 / 3600, 1e6
	if b.Rate == 0 {
		b.Rate = 10
	}
	if !(b.Rate >= least && b.Rate <= most) { // so that NaN is refused
		return b, fmt.Errorf("%w: budget: Rate %v is not from one an hour to %v a second", ErrInvalid, b.Rate, most)
	}
	if b.Burst == 0 {
		b.Burst = int(math.Ceil(b.Rate))
	}
	if b.Burst < 1 || b.Burst > most {
		return b, fmt.Errorf("%w: budget: Burst %d is not in 1..%v", ErrInvalid, b.Burst, most)
	}
	return b, nil
}

// Draw takes as many of the wanted moves out of the bucket as may begin now. It returns the new
// bucket and the number of moves. When the clock is set back, the bucket is empty at worst and
// fills from there. Nothing is drawn from a Budget that WithDefaults refuses.
func (b Budget) Draw(bucket Bucket, want int, now time.Time) (Bucket, int) {
	b, err := b.WithDefaults()
	if err != nil {
		return bucket, 0
	}
	each := time.Duration(math.Ceil(float64(time.Second) / b.Rate))
	size := each * time.Duration(b.Burst) // at most 3.6e18 ns: fits
	drawn := min(max(0, bucket.Full.Sub(now)), size)
	n := max(0, min(want, int((size-drawn)/each)))
	return Bucket{Full: now.Add(drawn + each*time.Duration(n))}, n
}

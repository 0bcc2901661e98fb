package worqr_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seeded returns a source of chances that WORQR_SEED repeats, and logs its seed.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("WORQR_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("WORQR_SEED=%d repeats this", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

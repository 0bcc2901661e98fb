package worqr_test

import (
	"flag"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

func TestMain(m *testing.M) {
	// They wait far more than they compute. -parallel on the command line still counts: it is
	// parsed later.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	redistest.Main(m)
}

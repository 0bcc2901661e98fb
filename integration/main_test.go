package integration

import (
	"flag"
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.RegisterChild("worker", beWorker)
	// They wait for lapses far more than they compute. -parallel on the command line still counts:
	// it is parsed later.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	redistest.Main(m)
}

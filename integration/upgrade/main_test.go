package upgrade

import (
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

package share

import (
	"flag"
	"os"
	"testing"
)

// TestMain passes the seed to rapid. It writes no fail files: the seed is enough, and they would be
// left in the source tree.
func TestMain(m *testing.M) {
	flag.Parse()
	settings := map[string]string{"rapid.nofailfile": "true", "rapid.checks": "2000"}
	if seed := os.Getenv("WORQR_SEED"); seed != "" {
		settings["rapid.seed"] = seed
	}
	flag.Visit(func(f *flag.Flag) { delete(settings, f.Name) }) // what was asked for stays
	for name, value := range settings {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

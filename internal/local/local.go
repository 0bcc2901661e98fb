// Package local finds the Redis of an example or a demo.
package local

import (
	"os"

	"github.com/worqr/worqr-go/internal/embedded"
)

// Redis returns a URL for worqr.Open: what REDIS_URL says, or that of a server inside this program,
// which lives until stop is called and then forgets everything.
func Redis() (url string, own bool, stop func(), err error) {
	if url := os.Getenv("REDIS_URL"); url != "" {
		return url, false, func() {}, nil
	}
	server, err := embedded.Start()
	if err != nil {
		return "", false, nil, err
	}
	return server.URL(), true, server.Close, nil
}

package integration

import (
	"testing"

	"github.com/worqr/worqr-go/internal/redistest"
)

// The server's container stands still, loses its network, is killed and started again, each for
// longer than the lapse: the same processes work on, nothing is lost and nothing finished twice.
func TestTheServersContainerFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		down, up func(*redistest.Server, testing.TB)
	}{
		{"pause", (*redistest.Server).Pause, (*redistest.Server).Resume},
		{"network", (*redistest.Server).Disconnect, (*redistest.Server).Reconnect},
		{"kill", (*redistest.Server).Kill, (*redistest.Server).Start},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.ContainerWith(t, "--appendonly", "yes", "--appendfsync", "always")
			s := working(t, server)
			s.more(t)
			c.down(server, t)
			pass(2 * brisk.Lapse)
			c.up(server, t)
			s.recovered(t)
		})
	}
}

package simulator

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

// witness counts what Redis tells to have finished, over a connection of its own that no fault
// touches.
type witness struct {
	mu   sync.Mutex
	done map[string]map[string]int // by namespace and task
}

func newWitness(t *testing.T, server *redistest.Server) *witness {
	w := &witness{done: map[string]map[string]int{}}
	conn := server.Conn(t)
	sub := redis.PubSubConn{Conn: conn}
	if err := sub.PSubscribe("*:done"); err != nil {
		t.Fatal(err)
	}
	sub.Receive()
	ended := make(chan struct{})
	var over atomic.Bool
	go func() {
		defer close(ended)
		for {
			switch m := sub.ReceiveWithTimeout(0).(type) { // on a slow machine nothing may be finished for long
			case redis.Message:
				ns, _, _ := strings.Cut(m.Channel, "@")
				_, task, _ := strings.Cut(string(m.Data), "\n")
				w.add(ns, task)
			case error:
				if !over.Load() {
					t.Errorf("the witness hears no more: %v", m)
				}
				return
			}
		}
	}()
	t.Cleanup(func() {
		over.Store(true)
		conn.Close()
		<-ended
	})
	return w
}

func (w *witness) add(ns, task string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done[ns] == nil {
		w.done[ns] = map[string]int{}
	}
	w.done[ns][task]++
}

// of returns how often each task of a namespace was finished.
func (w *witness) of(ns string) map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.done[ns])
}

package redistest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"
)

const (
	// daemonLimit is how long the search for a daemon may take.
	daemonLimit = 2 * time.Second
	// endLabel holds the time, in Unix seconds, from which anybody may remove a container.
	endLabel = "worqr.redistest.end"
)

// engine is the Docker daemon with the image to run.
type engine struct {
	pool  *dockertest.Pool
	image image
}

// daemon finds the Docker daemon, once per test binary.
var daemon = sync.OnceValues(func() (*dockertest.Pool, error) {
	pool, err := dockertest.NewPool("")
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), daemonLimit)
	defer cancel()
	if err := pool.Client.PingWithContext(ctx); err != nil {
		return nil, fmt.Errorf("docker: no daemon replies at %s: %w", pool.Client.Endpoint(), err)
	}
	return pool, nil
})

// docker returns the daemon, made ready once per test binary.
var docker = sync.OnceValues(func() (*engine, error) {
	pool, err := daemon()
	if err != nil {
		return nil, err
	}
	removeStale(pool)
	img, err := findImage(pool)
	if err != nil {
		return nil, err
	}
	return &engine{pool, img}, nil
})

// removeStale removes what an earlier run left when it was killed. A failure does not matter to
// this run.
func removeStale(pool *dockertest.Pool) {
	list, err := pool.Client.ListContainers(dc.ListContainersOptions{
		All: true, Filters: map[string][]string{"label": {endLabel}},
	})
	if err != nil {
		return
	}
	for _, c := range list {
		end, err := strconv.ParseInt(c.Labels[endLabel], 10, 64)
		if err == nil && time.Now().Unix() > end {
			removeContainer(pool, c.ID)
		}
	}
}

// lifetime returns how long a container may live: a minute longer than the tests, so that it lasts
// as long as any of them.
func lifetime() time.Duration {
	limit := time.Duration(0)
	if f := flag.Lookup("test.timeout"); f != nil {
		if g, ok := f.Value.(flag.Getter); ok {
			limit, _ = g.Get().(time.Duration)
		}
	}
	if limit <= 0 {
		limit = 4 * time.Hour
	}
	return limit + time.Minute
}

// removeContainer removes a container in any state and waits until it is gone.
func removeContainer(pool *dockertest.Pool, id string) error {
	pool.Client.UnpauseContainer(id) // a paused one cannot be killed
	err := pool.Client.RemoveContainer(dc.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true})
	gone := poll(stopLimit, func() bool {
		_, err := pool.Client.InspectContainer(id)
		var none *dc.NoSuchContainer
		return errors.As(err, &none)
	})
	if gone { // also when the daemon itself was quicker
		return nil
	}
	return errors.Join(fmt.Errorf("container %.12s is still there", id), err)
}

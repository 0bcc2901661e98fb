package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ory/dockertest/v3"
	dc "github.com/ory/dockertest/v3/docker"
)

// hostLimit is how long a container on the host's network may take to reply from here. One of a
// daemon elsewhere, or in a virtual machine, never replies.
const hostLimit = 3 * time.Second

// container is a redis-server that the Docker daemon runs. It implements host.
type container struct {
	engine *engine
	port   int
	mark   string
	id     string
	net    string // the id of its network, when bridged
	expiry *expiry
}

// layout is how a container is to run.
type layout struct {
	onHost bool     // the host's network, else a bridged one of its own
	once   bool     // never started again: the daemon removes it when it ends
	args   []string // for redis-server
}

// startContainer starts a server in a container, on the host's network where we can reach that: it
// costs nothing per command, while a bridged port costs half of the throughput.
func startContainer(l layout) (*Server, error) {
	if _, err := docker(); err != nil {
		return nil, err
	}
	l.onHost = true
	s, onHost := runContainer(l)
	if onHost == nil {
		return s, nil
	}
	l.onHost = false
	s, bridged := runContainer(l)
	if bridged != nil {
		return nil, errors.Join(onHost, bridged)
	}
	return s, nil
}

func runContainer(l layout) (*Server, error) {
	eng, err := docker()
	if err != nil {
		return nil, err
	}
	for range 5 { // another process may take the port in between
		c := &container{engine: eng, mark: newNamespace("redistest") + ".rdb"}
		if c.port, err = freePort(); err != nil {
			break
		}
		if err = c.create(l); err == nil {
			addr := loopback(c.port)
			return &Server{url: "redis://" + addr + "/0", addr: addr, host: c}, nil
		}
		if c.id != "" {
			err = errors.Join(err, errors.New(c.log()), c.remove())
		}
		if !errors.Is(err, errStranger) && !errors.Is(err, errPort) {
			break
		}
	}
	return nil, fmt.Errorf("docker: start %s: %w", eng.image.name(), err)
}

// errPort is returned when the port was taken before the container had it.
var errPort = errors.New("the port is taken")

func (c *container) create(l layout) error {
	img := c.engine.image
	life := lifetime()
	opts := &dockertest.RunOptions{
		Repository: img.repository, Tag: img.tag, Env: img.env, WorkingDir: "/data",
		Labels: map[string]string{endLabel: strconv.FormatInt(time.Now().Add(life).Unix(), 10)},
	}
	inside, bind, limit := "6379", "0.0.0.0", startLimit
	if l.onHost {
		inside, bind, limit = strconv.Itoa(c.port), "127.0.0.1", hostLimit
	} else {
		port := dc.Port(inside + "/tcp")
		opts.ExposedPorts = []string{string(port)}
		opts.PortBindings = map[dc.Port][]dc.PortBinding{
			port: {{HostIP: "127.0.0.1", HostPort: strconv.Itoa(c.port)}},
		}
	}
	opts.Cmd = append([]string{img.command, "--bind", bind, "--port", inside, "--protected-mode", "no",
		"--dir", "/data", "--dbfilename", c.mark, "--save", ""}, l.args...)
	res, err := c.engine.pool.RunWithOptions(opts, func(h *dc.HostConfig) {
		h.PublishAllPorts = false
		h.AutoRemove = l.once
		if l.onHost {
			h.NetworkMode = "host"
		}
	})
	if err != nil {
		if probe(loopback(c.port)) == nil {
			return errPort
		}
		return err
	}
	c.id = res.Container.ID
	if !l.onHost {
		for _, n := range res.Container.NetworkSettings.Networks {
			c.net = n.NetworkID
		}
	}
	c.expiry = expire(c.engine.pool, c.id, life)
	return c.answers(limit)
}

// answers waits until the server replies, or the container is gone.
func (c *container) answers(limit time.Duration) error {
	var err error
	poll(limit, func() bool {
		err = probeOwn(loopback(c.port), c.mark)
		return err == nil || err == errStranger || !c.running()
	})
	return err
}

func (c *container) running() bool {
	info, err := c.engine.pool.Client.InspectContainer(c.id)
	return err == nil && info.State.Running
}

func (c *container) start() error {
	if err := c.engine.pool.Client.StartContainer(c.id, nil); err != nil {
		return err
	}
	c.expiry.end()
	c.expiry = expire(c.engine.pool, c.id, lifetime())
	return c.answers(startLimit)
}

func (c *container) stop() error { return c.end(dc.SIGTERM) }
func (c *container) kill() error { return c.end(dc.SIGKILL) }

func (c *container) end(sig dc.Signal) error {
	client := c.engine.pool.Client
	if sig == dc.SIGKILL {
		client.UnpauseContainer(c.id) // a paused one cannot be killed
	}
	if err := client.KillContainer(dc.KillContainerOptions{ID: c.id, Signal: sig}); err != nil {
		return err
	}
	if !poll(stopLimit, func() bool { return !c.running() }) {
		return fmt.Errorf("it is still there %v after signal %d", stopLimit, sig)
	}
	return nil
}

func (c *container) pause() error  { return c.engine.pool.Client.PauseContainer(c.id) }
func (c *container) resume() error { return c.engine.pool.Client.UnpauseContainer(c.id) }

func (c *container) disconnect() error {
	return c.engine.pool.Client.DisconnectNetwork(c.net, dc.NetworkConnectionOptions{Container: c.id, Force: true})
}

func (c *container) reconnect() error {
	return c.engine.pool.Client.ConnectNetwork(c.net, dc.NetworkConnectionOptions{Container: c.id})
}

func (c *container) remove() error {
	err := removeContainer(c.engine.pool, c.id)
	c.expiry.end()
	return err
}

func (c *container) kind() string {
	if c.net == "" {
		return "in a container (" + c.engine.image.name() + ", host network)"
	}
	return "in a container (" + c.engine.image.name() + ")"
}

func (c *container) log() string {
	var out bytes.Buffer
	c.engine.pool.Client.Logs(dc.LogsOptions{
		Container: c.id, OutputStream: &out, ErrorStream: &out, Stdout: true, Stderr: true, Tail: "30",
	})
	return out.String()
}

// expiry makes the daemon stop a container when its time is over, whatever happens to us: the
// request is a stop with that long a grace. (Resource.Expire does the same in a goroutine that
// nobody can wait for.)
type expiry struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func expire(pool *dockertest.Pool, id string, after time.Duration) *expiry {
	ctx, cancel := context.WithCancel(context.Background())
	e := &expiry{cancel, make(chan struct{})}
	go func() {
		defer close(e.done)
		pool.Client.StopContainerWithContext(id, uint(after.Seconds()), ctx)
	}()
	return e
}

func (e *expiry) end() {
	if e != nil {
		e.cancel()
		<-e.done
	}
}

package adapter

import (
	"sync/atomic"
	"syscall"
	"time"
)

// Counter counts finished tasks.
type Counter struct {
	n       atomic.Int64
	goal    int64
	reached chan struct{}
}

// NewCounter returns a counter that signals when the goal is reached; 0 means no goal.
func NewCounter(goal int64) *Counter { return &Counter{goal: goal, reached: make(chan struct{})} }

// Add counts one more task.
func (c *Counter) Add() {
	if c.n.Add(1) == c.goal {
		close(c.reached)
	}
}

// Total returns how many were counted.
func (c *Counter) Total() int64 { return c.n.Load() }

// moment is what was used up to a time.
type moment struct {
	at       time.Time
	cpu      float64 // seconds of this process
	redisCPU float64
	commands float64
	bytes    float64
}

// cpu returns the processor time of this process, in seconds.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}

// Meter measures the cost of a span of time.
type Meter struct {
	redis *Redis
	start moment
}

func (m *Meter) look() (moment, error) {
	now := moment{at: time.Now(), cpu: cpu()}
	if m.redis == nil {
		return now, nil
	}
	used, err := m.redis.Info("cpu")
	if err != nil {
		return now, err
	}
	stats, err := m.redis.Info("stats")
	now.redisCPU = Number(used, "used_cpu_user") + Number(used, "used_cpu_sys")
	now.commands = Number(stats, "total_commands_processed")
	now.bytes = Number(stats, "total_net_input_bytes") + Number(stats, "total_net_output_bytes")
	return now, err
}

// Begin starts the span.
func (m *Meter) Begin() (err error) {
	m.start, err = m.look()
	return err
}

// End ends the span, in which n tasks were finished, and stores the measurements in the result.
func (m *Meter) End(r *Result, n int64) error {
	seconds := time.Since(m.start.at).Seconds()
	end, err := m.look()
	if err != nil {
		return err
	}
	r.Count, r.Seconds, r.Rate = n, seconds, float64(n)/seconds
	if n > 0 {
		per := float64(n)
		r.ClientCPU = (end.cpu - m.start.cpu) * 1e6 / per
		r.RedisCPU = (end.redisCPU - m.start.redisCPU) * 1e6 / per
		r.Commands = (end.commands - m.start.commands) / per
		r.Bytes = (end.bytes - m.start.bytes) / per
	}
	return nil
}

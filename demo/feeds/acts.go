package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/worqr/worqr-go/internal/witness"
	"github.com/worqr/worqr-go/worqr"
)

// add starts a holder process.
func (s *show) add() error {
	m, err := s.fleet.add()
	if err == nil {
		s.screen.say(event{Event: "started", Holder: m.name, PID: m.cmd.Process.Pid}, "%s starts, pid %d", m.name, m.cmd.Process.Pid)
	}
	return err
}

// joined waits until all holders serve the queue, so that the first sharing out is among all of
// them.
func (s *show) joined(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not all holders serve queue %s after %v", s.queue, patience))
	defer cancel()
	for {
		workers, err := s.mesh.Workers(ctx)
		if err != nil {
			return err
		}
		serving := 0
		for _, w := range workers {
			queues, err := s.mesh.WorkingQueues(ctx, w.ID)
			if err != nil {
				return err
			}
			if w.Alive && slices.Contains(queues, s.queue) {
				serving++
			}
		}
		if serving >= len(s.fleet.members) {
			return nil
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reconcile makes the mesh hold the feeds. It may be called with the whole list whenever that
// changes, or now and then.
func (s *show) reconcile(ctx context.Context) error {
	var desired [][]byte
	for _, feed := range s.feeds {
		desired = append(desired, []byte(feed))
	}
	done, err := s.mesh.Reconcile(ctx, s.queue, desired)
	if err == nil {
		s.screen.say(event{Event: "reconciled", Count: done.Added}, "Reconcile: %d feeds are to be held", done.Added)
	}
	return err
}

// kill ends the first holder by SIGKILL.
func (s *show) kill(context.Context) error {
	m := s.fleet.members[0]
	s.screen.say(event{Event: "killed", Holder: m.name, Count: s.held(m)}, "SIGKILL for %s, which holds %d feeds", m.name, s.held(m))
	return m.kill()
}

// join adds one more holder.
func (s *show) join(context.Context) error { return s.add() }

// drain makes the second holder leave as a daemon does.
func (s *show) drain(context.Context) error {
	m := s.fleet.members[1]
	s.screen.say(event{Event: "drained", Holder: m.name, Count: s.held(m)}, "SIGTERM for %s, which holds %d feeds", m.name, s.held(m))
	m.drain()
	return nil
}

// held returns how many feeds a holder holds by its own word.
func (s *show) held(m *member) int {
	n := 0
	for _, k := range s.seen.Keys {
		if k.Holder == m.name && k.State == "held" {
			n++
		}
	}
	return n
}

// tellRest shows what has happened since the last act, and where the feed is that was without a
// holder the longest.
func (s *show) tellRest(ctx context.Context) {
	after := time.Since(s.acted)
	text := fmt.Sprintf("all %d feeds are held and shared out, %.1f s later", len(s.feeds), after.Seconds())
	if len(s.moved) == 0 {
		s.screen.say(event{Event: "rest", After: after.Seconds()}, "%s", text)
		return
	}
	longest := slices.MaxFunc(s.moved, func(a, b witness.Move) int { return cmp.Compare(a.Gap, b.Gap) })
	s.screen.say(event{Event: "rest", Count: len(s.moved), After: after.Seconds()}, "%s; %d moved, longest gap %s (%s)",
		text, len(s.moved), gap(longest.Gap), longest.Reason)
	if at, holder, err := s.locate(ctx, longest.Key); err == nil {
		s.screen.say(event{Event: "located", Feed: longest.Key, Where: string(at.State), Holder: holder, Token: at.Token},
			"Locate: %s is %s by %s, before by %s", longest.Key, at.State, holder, longest.From)
	}
}

// locate asks the mesh where a feed is, and who it is that holds it.
func (s *show) locate(ctx context.Context, feed string) (at worqr.Location, holder string, err error) {
	if at, err = s.mesh.Locate(ctx, s.queue, []byte(feed)); err != nil {
		return at, "", err
	}
	workers, err := s.mesh.Workers(ctx)
	for _, w := range workers {
		if w.ID == at.Worker {
			holder = w.Labels[label]
		}
	}
	return at, holder, err
}

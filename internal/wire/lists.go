package wire

import (
	"context"
	"slices"
	"time"
)

var (
	noteScript   = Named("note")
	forgetScript = Named("forget")
	servedScript = Named("served")
)

// Note puts a queue into the list of queues. Errors: ErrRedisFull.
func (m *Mesh) Note(ctx context.Context, queue string) error {
	_, err := m.eval(ctx, noteScript, queue)
	return err
}

// Forget takes a queue off the list of queues, unless one was noted or served since Notes returned
// notes.
func (m *Mesh) Forget(ctx context.Context, queue, notes string) error {
	_, err := m.eval(ctx, forgetScript, queue, notes)
	return err
}

// Notes returns what changes whenever a queue is noted or served.
func (m *Mesh) Notes(ctx context.Context) (string, error) {
	reply, err := m.send.Read(ctx, "HGET", m.keys.Mesh()+":mesh", "notes")
	if err == nil && reply == nil {
		return "0", nil
	}
	return decoded(reply, err, decodeNotes)
}

func decodeNotes(reply any) (string, error) { return decodeText("HGET", reply) }

// Served reports of each of up to Most workers whether its workmap has a queue.
func (m *Mesh) Served(ctx context.Context, queue string, workers []string) ([]bool, error) {
	args := make([]any, 0, 1+len(workers))
	args = append(args, queue)
	for _, worker := range workers {
		args = append(args, worker)
	}
	reply, err := m.eval(ctx, servedScript, args...)
	if err != nil {
		return nil, err
	}
	return decodeServed(reply, len(workers))
}

func decodeServed(reply any, asked int) ([]bool, error) {
	a := listOf("served", reply, asked)
	served := make([]bool, min(asked, a.left()))
	for i := range served {
		served[i] = a.flag()
	}
	return served, a.all()
}

// Queues lists the queues in use, sorted.
func (m *Mesh) Queues(ctx context.Context) ([]string, error) { return m.set(ctx, ":queues") }

// Workmap lists the queues that a worker serves, sorted.
func (m *Mesh) Workmap(ctx context.Context, worker string) ([]string, error) {
	return m.set(ctx, ":workmap:"+worker)
}

// set reads a set in pages.
func (m *Mesh) set(ctx context.Context, key string) ([]string, error) {
	var names []string
	for cursor := "0"; ; {
		reply, err := m.send.Read(ctx, "SSCAN", m.keys.Mesh()+key, cursor, "COUNT", Most)
		page, err := decoded(reply, err, decodeScan)
		if err != nil {
			return nil, err
		}
		names = append(names, page.members...)
		if cursor = page.next; cursor == "0" {
			slices.Sort(names)
			return slices.Compact(names), nil // SSCAN may name one twice
		}
	}
}

type scanned struct {
	next    string
	members []string
}

func decodeScan(reply any) (s scanned, err error) {
	a := listOf("SSCAN", reply, 2)
	s.next = a.text()
	members := a.inner()
	for range members.left() {
		s.members = append(s.members, members.text())
	}
	if err := members.all(); err != nil {
		return scanned{}, err
	}
	return s, a.all()
}

// Living counts the heartbeats of some workers.
func (m *Mesh) Living(ctx context.Context, workers []string) (int, error) {
	keys := make([]any, len(workers))
	for i, worker := range workers {
		keys[i] = m.heartbeat(worker)
	}
	reply, err := m.send.Read(ctx, "EXISTS", keys...)
	return decoded(reply, err, decodeExists)
}

func decodeExists(reply any) (int, error) { return decodeCount("EXISTS", reply) }

// heartbeat is the key of a heartbeat.
func (m *Mesh) heartbeat(worker string) string { return m.keys.Mesh() + ":worker:" + worker }

// Absence is for how long a worker has been seen without a heartbeat, by the server's clock.
func (m *Mesh) Absence(ctx context.Context, worker string) (time.Duration, error) {
	reply, err := m.send.Read(ctx, "HGET", m.keys.Mesh()+":info:"+worker, "lapsed")
	lapsed, err := decoded(reply, err, decodeLapsed)
	if err != nil {
		return 0, err
	}
	reply, err = m.send.Read(ctx, "TIME")
	now, err := decoded(reply, err, decodeTime)
	return time.Duration(max(0, now-lapsed)) * time.Microsecond, err
}

func decodeLapsed(reply any) (int64, error) { return decodeInteger("HGET", reply) }

// decodeTime returns microseconds.
func decodeTime(reply any) (int64, error) {
	a := listOf("TIME", reply, 2)
	now := a.integer()*1e6 + a.integer()
	return now, a.all()
}

//go:build linux

package faults

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/share"
)

// end checks whether the tasks are shared out in the end, stops all workers, and checks what is
// left.
func (f *fleet) end() {
	f.Helper()
	for _, of := range []class{beats, data, notes} {
		n := 0
		for _, w := range f.ways {
			n += w.know(of)
		}
		if n == 0 {
			f.Errorf("no %s were seen: what tells them apart has changed", of)
		}
	}
	f.run++
	f.began, f.past = stamp(), nil
	if wrong, _ := f.recover(); wrong != "" {
		f.Errorf("%s\nno fault since, and %s", f.history(), wrong)
		return
	}
	for _, queue := range f.queues {
		f.await("the tasks of "+queue+" are shared out", func() bool { return f.moves(queue) == 0 })
	}
	f.stopAll()
	for i := 0; i < 3 && (f.registered() > 0 || !strings.Contains(f.differs(), "has in hand []")); i++ {
		f.spawn() // a worker that stopped may have lapsed meanwhile: one more comes after them
		if wrong, _ := f.recover(); wrong != "" {
			f.Errorf("%s\nafter all workers: %s", f.history(), wrong)
			return
		}
		f.stopAll()
	}
	if wrong := f.differs(); !strings.Contains(wrong, "has in hand []") || len(f.wrong) > 0 {
		f.Errorf("%s\nall workers have ended: %s %v", f.history(), wrong, f.wrong)
	}
	f.tasks = nil
	if err := f.reconcile(soon); err != nil {
		f.Error(err)
	}
	if keys := f.leftOver(); len(keys) > 0 {
		f.Errorf("%s\nkeys are left over: %v", f.history(), keys)
	}
}

func (f *fleet) registered() int {
	workers, err := f.mesh.Workers(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	return len(workers)
}

func (f *fleet) stopAll() {
	f.Helper()
	for _, w := range f.workers {
		f.await(w.name+" has joined", w.up)
		f.term(w)
	}
	f.await("all workers have ended", func() bool { f.buryEnded(); return len(f.workers) == 0 })
}

// moves returns how many tasks of a queue had to move for even shares.
func (f *fleet) moves(queue string) int {
	var members []share.Member
	for _, w := range f.workers {
		h := fnv.New64a()
		fmt.Fprint(h, queue, w.name)
		m := share.Member{ID: w.name, Weight: w.capacity, Rank: h.Sum64()}
		for _, h := range w.records.all(w.name) {
			if task := fmt.Sprintf("t%d", h.task); h.end == 0 && h.claim > stamp()-40*claims && f.queueOf(task) == queue {
				m.Held++
			}
		}
		members = append(members, m)
	}
	parts, err := share.Plan(members, 0)
	if err != nil {
		f.Fatal(err)
	}
	return share.Moves(parts)
}

// leftOver returns the keys that stay for good, except the list of queues and what the mesh agreed
// on.
func (f *fleet) leftOver() []string {
	f.Helper()
	var bad []string
	mesh := "{" + f.namespace + "}:"
	for cursor := "0"; ; {
		page, err := redis.Values(f.do("SCAN", cursor, "COUNT", 1000), nil)
		var keys []string
		if err == nil {
			_, err = redis.Scan(page, &cursor, &keys)
		}
		if err != nil {
			f.Fatal(err)
		}
		for _, key := range keys {
			if !strings.HasPrefix(key, mesh) && !strings.HasPrefix(key, f.namespace+":{") {
				continue // another server may have had the port of a killed one for a moment
			}
			left, err := redis.Int(f.do("PTTL", key), nil)
			if err != nil {
				f.Fatal(err)
			}
			if left == -1 && !slices.Contains([]string{mesh + "queues", mesh + "mesh"}, key) {
				bad = append(bad, key)
			}
		}
		if cursor == "0" {
			return bad
		}
	}
}

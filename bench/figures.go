package main

import (
	"slices"

	"github.com/worqr/worqr-go/bench/adapter"
)

// figure is what one peer has measured in one cell.
type figure struct {
	Figure      string           `json:"figure"`
	Concurrency int              `json:"concurrency"`
	Peer        string           `json:"peer"`
	Median      adapter.Result   `json:"median"`
	Runs        []adapter.Result `json:"runs"`
}

// figures is all that was measured.
type figures struct {
	list    []*figure
	skipped []skipped
}

// find returns a figure, or nil.
func (b *figures) find(name string, concurrency int, peer string) *figure {
	for _, f := range b.list {
		if f.Figure == name && f.Concurrency == concurrency && f.Peer == peer {
			return f
		}
	}
	return nil
}

func (b *figures) add(c cell, peer string, r adapter.Result) {
	f := b.find(c.Figure, c.Concurrency, peer)
	if f == nil {
		f = &figure{Figure: c.Figure, Concurrency: c.Concurrency, Peer: peer}
		b.list = append(b.list, f)
	}
	f.Runs = append(f.Runs, r)
	f.Median = median(f.Runs)
	r.Module, r.Version, r.Config = "", "", "" // once is enough
	f.Runs[len(f.Runs)-1] = r
}

func (b *figures) skip(peer, reason string) {
	b.skipped = append(b.skipped, skipped{peer, reason})
}

// median returns the median of each number by itself: two numbers of the result need not come from
// the same run.
func median(runs []adapter.Result) adapter.Result {
	m := runs[len(runs)-1]
	of := func(get func(*adapter.Result) *float64) {
		values := make([]float64, len(runs))
		for i := range runs {
			values[i] = *get(&runs[i])
		}
		slices.Sort(values)
		*get(&m) = adapter.Quantile(values, 0.5)
	}
	of(func(r *adapter.Result) *float64 { return &r.Seconds })
	of(func(r *adapter.Result) *float64 { return &r.Rate })
	of(func(r *adapter.Result) *float64 { return &r.ClientCPU })
	of(func(r *adapter.Result) *float64 { return &r.RedisCPU })
	of(func(r *adapter.Result) *float64 { return &r.Commands })
	of(func(r *adapter.Result) *float64 { return &r.Calls })
	of(func(r *adapter.Result) *float64 { return &r.Bytes })
	of(func(r *adapter.Result) *float64 { return &r.P50 })
	of(func(r *adapter.Result) *float64 { return &r.P99 })
	of(func(r *adapter.Result) *float64 { return &r.Waiting })
	of(func(r *adapter.Result) *float64 { return &r.InHand })
	return m
}

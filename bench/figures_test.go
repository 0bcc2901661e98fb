package main

import (
	"math"
	"testing"

	"github.com/worqr/worqr-go/bench/adapter"
)

func TestEachNumberHasItsOwnMedian(t *testing.T) {
	book := &figures{}
	c := cell{Figure: "mixed", Concurrency: 64}
	for _, r := range []adapter.Result{
		{Rate: 30, ClientCPU: 1, P99: 7, Config: "as it comes"}, {Rate: 10, ClientCPU: 3, P99: 9}, {Rate: 20, ClientCPU: 2, P99: 1},
	} {
		book.add(c, ours, r)
	}
	f := book.find("mixed", 64, ours)
	if f == nil || len(f.Runs) != 3 {
		t.Fatalf("the runs are %+v", f)
	}
	if m := f.Median; m.Rate != 20 || m.ClientCPU != 2 || m.P99 != 7 {
		t.Errorf("the median is %+v", m)
	}
	if book.find("mixed", 1, ours) != nil || book.find("drain", 64, ours) != nil || book.find("mixed", 64, raw) != nil {
		t.Error("a figure is found that was not measured")
	}
}

func TestTheMedianOfTwoIsBetweenThem(t *testing.T) {
	if m := median([]adapter.Result{{Rate: 10}, {Rate: 40}}); m.Rate != 25 {
		t.Errorf("the median of 10 and 40 is %v", m.Rate)
	}
}

// filled returns figures for every ratio.
func filled() *figures {
	book := &figures{}
	rate := func(name string, concurrency int, peer string, r float64) {
		book.add(cell{Figure: name, Concurrency: concurrency}, peer, adapter.Result{
			Rate: r, ClientCPU: 1e6 / r, RedisCPU: 2, Bytes: 100, Config: "as it comes", Module: "example.com/" + peer, Version: "v1",
		})
	}
	for _, c := range concurrencies {
		rate("mixed", c, ours, 100_000)
		rate("mixed", c, "asynq", 10_000)
		rate("mixed", c, "rmq", 5_000)
		rate("mixed", c, "gocraft/work", 25_000)
		rate("mixed", c, raw, 200_000)
		rate("drain", c, ours, 150_000)
		rate("drain", c, raw, 200_000)
		rate("pipeline", c, ours, 400_000)
		rate("pipeline", c, "rueidis", 200_000)
	}
	wake := func(name, peer string, p50, p99 float64) {
		book.add(cell{Figure: name, Concurrency: 10}, peer, adapter.Result{P50: p50, P99: p99})
	}
	wake("wake", ours, 150, 300)
	wake("wake", raw, 100, 200)
	wake("wake-slow", ours, 200, 400)
	wake("wake-slow", "asynq", 500_000, 900_000)
	return book
}

func TestRatiosAreOfMedians(t *testing.T) {
	want := map[string]float64{
		"mixed1-vs-asynq": 10, "mixed10-vs-asynq": 10, "mixed64-vs-asynq": 10, "mixed256-vs-asynq": 10,
		"mixed64-vs-best-peer": 4, "mixed256-vs-best-peer": 4, "pipeline256-vs-rueidis": 2, "mixed64-vs-ceiling": 0.5,
		"drain256-vs-ceiling": 0.75, "wake-p50-vs-raw": 1.5, "wake-p99-ms": 0.3, "cpu64-vs-asynq": 0.1,
	}
	for _, r := range filled().ratios() {
		if math.Abs(r.Value-want[r.Name]) > 1e-9 {
			t.Errorf("%s is %v, not %v", r.Name, r.Value, want[r.Name])
		}
		if r.Name == "mixed64-vs-best-peer" && r.Note != "gocraft/work" {
			t.Errorf("the best peer is %q: the ceiling is no peer", r.Note)
		}
		delete(want, r.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestWhatWasNotMeasuredHasNoRatio(t *testing.T) {
	book := &figures{}
	book.add(cell{Figure: "mixed", Concurrency: 64}, ours, adapter.Result{Rate: 1000})
	if list := book.ratios(); len(list) > 0 {
		t.Errorf("ratios over nothing: %v", list)
	}
}

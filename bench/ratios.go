package main

import "fmt"

// ratio is one figure over another, of the same run.
type ratio struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Note  string  `json:"note,omitempty"`
}

// rate returns the rate of a peer, 0 when it was not measured.
func (b *figures) rate(name string, concurrency int, peer string) float64 {
	if f := b.find(name, concurrency, peer); f != nil {
		return f.Median.Rate
	}
	return 0
}

// best returns the fastest of the peers, except this library and the programs that are not
// libraries.
func (b *figures) best(name string, concurrency int) (peer string, rate float64) {
	for _, p := range peers {
		if p.Name == ours || p.Kind != library {
			continue
		}
		if r := b.rate(name, concurrency, p.Name); r > rate {
			peer, rate = p.Name, r
		}
	}
	return peer, rate
}

// ratios returns the ratios whose figures were measured.
func (b *figures) ratios() (list []ratio) {
	over := func(name string, value, by float64, note string) {
		if value > 0 && by > 0 {
			list = append(list, ratio{name, value / by, note})
		}
	}
	for _, c := range concurrencies {
		over(fmt.Sprintf("mixed%d-vs-asynq", c), b.rate("mixed", c, ours), b.rate("mixed", c, "asynq"), "")
	}
	for _, c := range []int{64, 256} {
		peer, rate := b.best("mixed", c)
		over(fmt.Sprintf("mixed%d-vs-best-peer", c), b.rate("mixed", c, ours), rate, peer)
	}
	over("pipeline256-vs-rueidis", b.rate("pipeline", 256, ours), b.rate("pipeline", 256, "rueidis"), "")
	over("mixed64-vs-ceiling", b.rate("mixed", 64, ours), b.rate("mixed", 64, raw), "")
	over("drain256-vs-ceiling", b.rate("drain", 256, ours), b.rate("drain", 256, raw), "")
	if own, chain := b.find("wake", 10, ours), b.find("wake", 10, raw); own != nil && chain != nil {
		over("wake-p50-vs-raw", own.Median.P50, chain.Median.P50, "")
		over("wake-p99-ms", own.Median.P99, 1000, "")
	}
	if own, other := b.find("mixed", 64, ours), b.find("mixed", 64, "asynq"); own != nil && other != nil {
		over("cpu64-vs-asynq", own.Median.ClientCPU, other.Median.ClientCPU, "")
	}
	return list
}

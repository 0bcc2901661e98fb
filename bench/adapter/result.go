package adapter

import "slices"

// Result is the line that a program prints. Fields that a mode does not measure are 0.
type Result struct {
	Module      string `json:"module,omitempty"`
	Version     string `json:"version,omitempty"`
	Config      string `json:"config,omitempty"`
	NoRedis     bool   `json:"no_redis,omitempty"`
	Mode        string `json:"mode"`
	Concurrency int    `json:"concurrency"`

	Count   int64   `json:"count,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Rate    float64 `json:"rate,omitempty"` // per second

	ClientCPU float64 `json:"client_cpu_us,omitempty"` // per task, as all below
	RedisCPU  float64 `json:"redis_cpu_us,omitempty"`
	Commands  float64 `json:"commands,omitempty"`     // with those inside scripts
	Calls     float64 `json:"client_calls,omitempty"` // without them; only of the modes commands and idle
	Bytes     float64 `json:"bytes,omitempty"`        // both ways

	P50 float64 `json:"p50_us,omitempty"`
	P99 float64 `json:"p99_us,omitempty"`

	Waiting float64 `json:"waiting_bytes,omitempty"` // of memory
	InHand  float64 `json:"in_hand_bytes,omitempty"`

	Error       string `json:"error,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"`
}

// Latencies stores the quantiles of samples in microseconds.
func (r *Result) Latencies(samples []float64) {
	if len(samples) == 0 {
		return
	}
	slices.Sort(samples)
	r.Count = int64(len(samples))
	r.P50 = Quantile(samples, 0.5)
	r.P99 = Quantile(samples, 0.99)
}

// Quantile returns a quantile of sorted samples, interpolated between two of them.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

package main

import (
	"encoding/json"
	"io"
	"sync"
)

// report is what a worker tells the parent, a line of JSON on its standard output. A worker that is
// killed half-way through a line leaves a torn one, which is passed over: what it had not told is
// found out in Redis.
type report struct {
	Kind    kind
	Worker  string `json:",omitempty"` // the incarnation that it is about
	Process string `json:",omitempty"`
	Token   int64  `json:",omitempty"`
	Task    []byte `json:",omitempty"`
	Sum     string `json:",omitempty"`
	Won     bool   `json:",omitempty"` // Finish answered true
	Note    string `json:",omitempty"` // why not
}

type kind string

const (
	joined    kind = "joined"    // Worker is registered
	lapsed    kind = "lapsed"    // Worker may not trust in its heartbeat any more
	reclaimed kind = "reclaimed" // the dead Worker's processes are back at the front; told by a peer
	took      kind = "took"      // Process, Token, Task: in this worker's hands
	hashed    kind = "hashed"    // Process, Task, Sum: told before Finish, so no finished task lacks its sum
	finished  kind = "finished"  // Process, Task, Won: told after Finish
	trouble   kind = "trouble"   // Note
)

// reporter writes reports, one write each.
type reporter struct {
	mu  sync.Mutex
	out *json.Encoder
}

func newReporter(w io.Writer) *reporter { return &reporter{out: json.NewEncoder(w)} }

func (r *reporter) tell(what report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.out.Encode(what) // a parent that reads no more has ended, and this worker ends with it
}

// readReports calls fn for each report until there are no more.
func readReports(from io.Reader, fn func(report)) {
	for in := json.NewDecoder(from); ; {
		var r report
		if in.Decode(&r) != nil {
			return
		}
		fn(r)
	}
}

package main

import (
	"sync"
	"time"
)

// books holds what is known of each file and each worker: what the workers report, and what Redis
// tells of finished processes, as a killed worker may have finished one and never said so.
type books struct {
	mu      sync.Mutex
	files   []*file
	at      map[string]*file // by path
	workers []*ledger
	done    int           // files that somebody finished
	last    time.Time     // when something was reported last
	half    chan struct{} // closed when half of the files are finished
	news    chan news     // all but the work itself
}

// file is one task of the demo. Every path is enqueued once, so a path names its task.
type file struct {
	path   string
	sum    string // what the workers found; "" while none has
	differ bool   // two runs found different sums
	runs   []run
	ends   []end
}

// run is one time that a worker took the file.
type run struct {
	process string
	token   int64
	at      time.Time
}

// end is one process whose Finish answered true: how often its worker said so, and how often Redis
// told it to all.
type end struct {
	process    string
	said, told int
}

// ledger is what one worker process has reported.
type ledger struct {
	life                  string // its present incarnation
	lives, lapses         int
	took, finished, stale int // stale: Finish did not return true, as the process was another's by then
}

func newBooks(paths []string, workers int) *books {
	b := &books{at: map[string]*file{}, half: make(chan struct{}), news: make(chan news, 1024), last: time.Now()}
	for _, path := range paths {
		f := &file{path: path}
		b.files = append(b.files, f)
		b.at[path] = f
	}
	for range workers {
		b.workers = append(b.workers, &ledger{})
	}
	if len(paths) < 2 {
		close(b.half)
	}
	return b
}

// enter takes in what a worker reports.
func (b *books) enter(worker int, r report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = time.Now()
	w, f := b.workers[worker], b.at[string(r.Task)]
	if f == nil {
		f = &file{} // no report of a file, or none of ours
	}
	switch r.Kind {
	case took:
		w.took++
		f.runs = append(f.runs, run{r.Process, r.Token, b.last})
	case hashed:
		f.differ = f.differ || f.sum != "" && f.sum != r.Sum
		f.sum = r.Sum
	case finished:
		if !r.Won {
			w.stale++
			break
		}
		w.finished++
		b.end(f, r.Process).said++
	case joined:
		w.life = r.Worker
		w.lives++
		b.tell(news{worker, r})
	case lapsed:
		w.lapses++
		b.tell(news{worker, r})
	default:
		b.tell(news{worker, r})
	}
}

// tell hands on what is news. There is room for more than a demo has; troubles alone could be too
// many.
func (b *books) tell(n news) {
	if n.Kind == trouble && len(b.news) > cap(b.news)/2 {
		return
	}
	select {
	case b.news <- n:
	default:
	}
}

// witness takes in that Redis told all of a finished process.
func (b *books) witness(task []byte, process string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.at[string(task)]; f != nil {
		b.end(f, process).told++
	}
}

// end finds or makes the entry of a process that finished a file.
func (b *books) end(f *file, process string) *end {
	for i := range f.ends {
		if f.ends[i].process == process {
			return &f.ends[i]
		}
	}
	if len(f.ends) == 0 && f.path != "" {
		b.done++
		if half := len(b.files) / 2; half > 0 && b.done == half {
			close(b.half)
		}
	}
	f.ends = append(f.ends, end{process: process})
	return &f.ends[len(f.ends)-1]
}

// progress returns how many files are finished, and for how long nothing was reported.
func (b *books) progress() (done int, silence time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.done, time.Since(b.last)
}

// ledger returns a copy of what a worker has reported.
func (b *books) ledger(worker int) ledger {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *b.workers[worker]
}

// news is a report that changes more than a count.
type news struct {
	worker int
	report
}

// result is what the books say when all is over.
type result struct {
	files, verified, lost, twice, wrong int
	refused                             int // finishes that came too late
}

// judge compares the workers' sums with those that sum computes.
func (b *books) judge(sum func(path string) (string, error)) result {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := result{files: len(b.files)}
	for _, f := range b.files {
		own, err := sum(f.path)
		switch {
		case len(f.ends) == 0:
			r.lost++
		case err == nil && f.sum == own && !f.differ:
			r.verified++
		default:
			r.wrong++
		}
		twice := len(f.ends) > 1
		for _, e := range f.ends {
			twice = twice || e.said > 1 || e.told > 1
		}
		if twice {
			r.twice++
		}
	}
	for _, w := range b.workers {
		r.refused += w.stale
	}
	return r
}

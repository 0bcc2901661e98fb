//go:build linux

package faults

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// record is what one holder records of one hold. It lies in memory that the test shares with the
// holder, so nothing of it is lost by a SIGKILL. The holder writes, and the test may read at any
// time.
type record struct {
	begun    atomic.Bool  // all up to start is written
	task     atomic.Int64 // its number
	token    atomic.Int64
	why      atomic.Int64 // an index into reasons
	before   atomic.Int64 // the token of the hold before, as Redis has it
	from     atomic.Int64 // the checkpoint that it came with
	start    atomic.Int64 // stamp: held from here on
	claim    atomic.Int64 // stamp: the last at which it held for certain
	deadline atomic.Int64 // stamp: until when it could have acted, had it lived; as of the last claim
	acked    atomic.Int64 // the last checkpoint that was accepted
	end      atomic.Int64 // stamp: the handler has stopped; 0: it has not recorded that
	cause    atomic.Int64 // an index into causes, of the end
	done     atomic.Bool  // the task was finished for good: Finish returned true
	excused  atomic.Bool  // it was informed that checkpoints could not be written
	process  [64 - 8]byte // its id
}

const mostRecords = 8192

// records are those of one process, in the order of their begins.
type records struct {
	mem  []byte
	list []record
	next atomic.Int64
}

// mapRecords opens the records in a file, which it makes when there is none.
func mapRecords(path string) (*records, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int(unsafe.Sizeof(record{})) * mostRecords
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	mem, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mmap %s: %w", path, err)
	}
	return &records{mem: mem, list: unsafe.Slice((*record)(unsafe.Pointer(&mem[0])), mostRecords)}, nil
}

// add returns a fresh record.
func (r *records) add() *record {
	n := r.next.Add(1)
	if n >= mostRecords { // the last one is not a hold's: see heard
		panic("too many holds in one process")
	}
	return &r.list[n-1]
}

// heard returns the last run that the process knows to be over.
func (r *records) heard() *atomic.Int64 { return &r.list[mostRecords-1].token }

// excuse marks in all holds that their last checkpoints may be lost: the holder was informed of
// that.
func (r *records) excuse() {
	for i := range min(r.next.Load(), mostRecords) {
		r.list[i].excused.Store(true)
	}
}

// all returns the holds that have begun. A process that was killed may have left gaps.
func (r *records) all(worker string) []hold {
	var list []hold
	for i, gap := 0, 0; i < len(r.list) && gap < 64; i++ {
		if !r.list[i].begun.Load() {
			gap++
			continue
		}
		h := r.list[i].read()
		h.worker, gap = worker, 0
		list = append(list, h)
	}
	return list
}

func (r *records) close(t testing.TB) {
	if err := syscall.Munmap(r.mem); err != nil {
		t.Error(err)
	}
}

// hold is a record that was read.
type hold struct {
	worker, process string
	task            int
	token, before   int64
	from, acked     int64
	why, cause      string
	start, claim    time.Duration
	deadline, end   time.Duration
	done, excused   bool
}

func (r *record) read() hold {
	h := hold{
		task: int(r.task.Load()), token: r.token.Load(), before: r.before.Load(), from: r.from.Load(), acked: r.acked.Load(), done: r.done.Load(), excused: r.excused.Load(),
		why: reasons[r.why.Load()], process: strings.TrimRight(string(r.process[:]), "\x00"),
		start: time.Duration(r.start.Load()), deadline: time.Duration(r.deadline.Load()), claim: time.Duration(r.claim.Load()),
	}
	if end := r.end.Load(); end != 0 { // written after the cause
		h.end, h.cause = time.Duration(end), causes[r.cause.Load()]
	}
	return h
}

package events

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Kind says what happened.
type Kind uint8

const (
	Work      Kind = iota + 1 // tasks were enqueued: Queue, Count
	Cancel                    // a task was cancelled: Queue, Token (the mark's), Task
	Delete                    // a queue was deleted: Queue, Token (the mark's)
	Done                      // a process was finished: Queue, Worker, Process, Token (the process's), Task
	Joined                    // a worker joined the mesh: Worker
	Left                      // a worker left after handing back what it held: Worker
	Lapsed                    // a worker's heartbeat lapsed, seen by a peer: Worker
	Reclaimed                 // all that a lapsed worker held is back in its queues: Worker

	// What a wake channel says; only OnWake and OnGive see these.
	wake // look at Queue
	give // give up Count persistent tasks of Queue, down to Token of them
	fail // this worker was failed by hand

	mesh  // the mesh channel as a whole, which carries Joined to Reclaimed
	ready // no message: what OnReady is called with
)

var kindWords = [...]string{"", "work", "cancel", "delete", "done", "joined", "left", "lapsed", "reclaimed", "wake", "give", "fail", "mesh", "ready"}

// String gives the lower-case word: "work", "joined" and so on.
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindWords) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kindWords[k]
}

func (k Kind) ofQueue() bool { return k >= Work && k <= Done }
func (k Kind) ofMesh() bool  { return k >= Joined && k <= Reclaimed }

// Event is one thing that happened. Which fields are set stands with each Kind;
// the others are zero.
type Event struct {
	Kind  Kind
	Queue string
	Count int // how many tasks were enqueued at once
	// Task is shared by all callbacks of this event: read it, never write to it. Of a task above
	// 4096 bytes it is the beginning: Size is greater than its length then.
	Task    []byte
	Size    int    // bytes of the whole task, with Task
	Sum     string // of a Cancel whose Task was cut: the SHA-1 of the whole task, in hex
	Worker  string
	Process string
	Token   int64 // a fencing token: of two processes of a queue, the later one has the higher
}

// topic is what one channel is about. It alone decides how the channel's
// payloads are read: nothing is ever taken out of a channel's name.
type topic struct {
	kind Kind   // Work to Done, mesh, or wake
	name string // the queue; for wake the worker; for mesh empty
}

// key is the channel's name without the namespace and database in front.
func (t topic) key() string {
	switch t.kind {
	case mesh:
		return ":mesh"
	case wake:
		return ":wake:" + t.name
	default:
		return ":" + t.name + ":" + t.kind.String()
	}
}

// Why a payload cannot be read. The texts hold nothing of the payload: a task
// may be a secret.
var (
	errNumber = errors.New("a number is not a decimal from 0 to 9223372036854775807")
	errNoTask = errors.New("no line end before the task")
	errWords  = errors.New("wrong number of words")
	errWord   = errors.New("unknown word")
)

// decode reads a payload of the topic's channel. The event's Task shares
// payload's memory. The formats stand in docs/protocol.md.
func decode(t topic, payload []byte) (Event, error) {
	e := Event{Kind: t.kind}
	var err error
	switch t.kind {
	case Work:
		e.Queue = t.name
		var n int64
		if n, err = number(payload); err == nil {
			if e.Count = int(n); int64(e.Count) != n {
				err = errNumber
			}
		}
	case Delete:
		e.Queue = t.name
		e.Token, err = number(payload)
	case Cancel:
		e.Queue = t.name
		head, task, found := bytes.Cut(payload, []byte{'\n'})
		if !found {
			return Event{}, errNoTask
		}
		head, cut, more := bytes.Cut(head, []byte{' '})
		if e.Token, err = number(head); err == nil {
			err = e.ofTask(task, cut, more, true)
		}
	case Done:
		e.Queue = t.name
		head, task, found := bytes.Cut(payload, []byte{'\n'})
		if !found {
			return Event{}, errNoTask
		}
		worker, rest, _ := bytes.Cut(head, []byte{' '})
		process, token, _ := bytes.Cut(rest, []byte{' '})
		if !isWord(worker) || !isWord(process) {
			return Event{}, errWords
		}
		e.Worker, e.Process = string(worker), string(process)
		token, cut, more := bytes.Cut(token, []byte{' '})
		if e.Token, err = number(token); err == nil {
			err = e.ofTask(task, cut, more, false)
		}
	case mesh:
		word, worker, _ := bytes.Cut(payload, []byte{' '})
		if !isWord(worker) {
			return Event{}, errWords
		}
		e.Worker = string(worker)
		e.Kind, err = meshKind(word)
	case wake:
		e.Worker = t.name
		if string(payload) == "fail" {
			e.Kind = fail
			break
		}
		word, queue, _ := bytes.Cut(payload, []byte{' '})
		switch string(word) {
		case "wake":
		case "give":
			e.Kind = give
			var count, down []byte
			count, queue, _ = bytes.Cut(queue, []byte{' '})
			down, queue, _ = bytes.Cut(queue, []byte{' '})
			n, err := number(count)
			if err == nil {
				e.Token, err = number(down)
			}
			if err != nil {
				return Event{}, err
			}
			e.Count = int(n)
		default:
			return Event{}, errWord
		}
		if !isWord(queue) {
			return Event{}, errWords
		}
		e.Queue = string(queue)
	default:
		err = errWord
	}
	if err != nil {
		return Event{}, err
	}
	return e, nil
}

// ofTask enters the task, which was cut when the head says more: its size and, of a cancel, its
// SHA-1.
func (e *Event) ofTask(task, head []byte, cut, cancel bool) error {
	e.Task, e.Size = task, len(task)
	if !cut {
		return nil
	}
	size, sum, _ := bytes.Cut(head, []byte{' '})
	n, err := number(size)
	if e.Size = int(n); err != nil || int64(e.Size) != n {
		return errNumber
	}
	if e.Size <= len(task) || cancel != isWord(sum) {
		return errWords
	}
	e.Sum = string(sum)
	return nil
}

func meshKind(word []byte) (Kind, error) {
	for k := Joined; k <= Reclaimed; k++ {
		if string(word) == k.String() {
			return k, nil
		}
	}
	return 0, errWord
}

// number reads a decimal without sign, space or any other liberty.
func number(b []byte) (int64, error) {
	const digits = 19 // of the largest int64; also keeps a huge payload from being copied
	if len(b) == 0 || len(b) > digits {
		return 0, errNumber
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, errNumber
		}
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, errNumber
	}
	return n, nil
}

// isWord: not empty, and no space or control character, as names and ids are.
func isWord(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return len(b) > 0
}

package subscribe

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/worqr/worqr-go/events"
)

// Why a payload cannot be read. The texts hold nothing of the payload: a task may be a secret.
var (
	errNumber = errors.New("a number is not a decimal from 0 to 9223372036854775807")
	errNoTask = errors.New("no line end before the task")
	errWords  = errors.New("wrong number of words")
	errWord   = errors.New("unknown word")
)

// decode reads a payload of the topic's channel. The event's Task shares the payload's memory. The
// formats stand in docs/protocol.md.
func decode(t topic, payload []byte) (events.Event, error) {
	e := events.Event{Kind: t.kind}
	var err error
	switch t.kind {
	case events.Work:
		e.Queue = t.name
		var n int64
		if n, err = number(payload); err == nil {
			if e.Count = int(n); int64(e.Count) != n {
				err = errNumber
			}
		}
	case events.Delete:
		e.Queue = t.name
		e.Token, err = number(payload)
	case events.Cancel:
		e.Queue = t.name
		head, task, found := bytes.Cut(payload, []byte{'\n'})
		if !found {
			return events.Event{}, errNoTask
		}
		head, cut, more := bytes.Cut(head, []byte{' '})
		if e.Token, err = number(head); err == nil {
			err = ofTask(&e, task, cut, more, true)
		}
	case events.Done:
		e.Queue = t.name
		head, task, found := bytes.Cut(payload, []byte{'\n'})
		if !found {
			return events.Event{}, errNoTask
		}
		worker, rest, _ := bytes.Cut(head, []byte{' '})
		process, token, _ := bytes.Cut(rest, []byte{' '})
		if !isWord(worker) || !isWord(process) {
			return events.Event{}, errWords
		}
		e.Worker, e.Process = string(worker), string(process)
		token, cut, more := bytes.Cut(token, []byte{' '})
		if e.Token, err = number(token); err == nil {
			err = ofTask(&e, task, cut, more, false)
		}
	case mesh:
		word, worker, _ := bytes.Cut(payload, []byte{' '})
		if !isWord(worker) {
			return events.Event{}, errWords
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
				return events.Event{}, err
			}
			e.Count = int(n)
		default:
			return events.Event{}, errWord
		}
		if !isWord(queue) {
			return events.Event{}, errWords
		}
		e.Queue = string(queue)
	default:
		err = errWord
	}
	if err != nil {
		return events.Event{}, err
	}
	return e, nil
}

// ofTask sets the task of e. It was cut when the head has more words: its size and, of a cancel,
// its SHA-1.
func ofTask(e *events.Event, task, head []byte, cut, cancel bool) error {
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

func meshKind(word []byte) (events.Kind, error) {
	for k := events.Joined; k <= events.Reclaimed; k++ {
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

// isWord reports whether b can be a name or an id: not empty, no space, no control character.
func isWord(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c == 0x7f {
			return false
		}
	}
	return len(b) > 0
}

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
	if ofQueue(t.kind) {
		e.Queue = t.name
	}
	var err error
	switch t.kind {
	case events.Work:
		e.Count, err = count(payload)
	case events.Cancel:
		err = readCancel(&e, payload)
	case events.Delete:
		e.Token, err = number(payload)
	case events.Done:
		err = readDone(&e, payload)
	case mesh:
		err = readMesh(&e, payload)
	case wake:
		e.Worker = t.name
		err = readWake(&e, payload)
	default:
		err = errWord
	}
	if err != nil {
		return events.Event{}, err
	}
	return e, nil
}

func readCancel(e *events.Event, payload []byte) (err error) {
	head, task, found := bytes.Cut(payload, []byte{'\n'})
	if !found {
		return errNoTask
	}
	mark, cut, more := bytes.Cut(head, []byte{' '})
	if e.Token, err = number(mark); err != nil {
		return err
	}
	return ofTask(e, task, cut, more, true)
}

func readDone(e *events.Event, payload []byte) (err error) {
	head, task, found := bytes.Cut(payload, []byte{'\n'})
	if !found {
		return errNoTask
	}
	worker, rest, _ := bytes.Cut(head, []byte{' '})
	process, rest, _ := bytes.Cut(rest, []byte{' '})
	if !isWord(worker) || !isWord(process) {
		return errWords
	}
	e.Worker, e.Process = string(worker), string(process)
	token, cut, more := bytes.Cut(rest, []byte{' '})
	if e.Token, err = number(token); err != nil {
		return err
	}
	return ofTask(e, task, cut, more, false)
}

func readMesh(e *events.Event, payload []byte) (err error) {
	word, worker, _ := bytes.Cut(payload, []byte{' '})
	if !isWord(worker) {
		return errWords
	}
	e.Worker = string(worker)
	e.Kind, err = meshKind(word)
	return err
}

// readWake reads "fail", "wake Q" or "give n down Q".
func readWake(e *events.Event, payload []byte) (err error) {
	word, rest, _ := bytes.Cut(payload, []byte{' '})
	switch string(word) {
	case "fail":
		if len(payload) > len(word) {
			return errWords
		}
		e.Kind = fail
		return nil
	case "wake":
	case "give":
		e.Kind = give
		var n, down []byte
		n, rest, _ = bytes.Cut(rest, []byte{' '})
		down, rest, _ = bytes.Cut(rest, []byte{' '})
		if e.Count, err = count(n); err != nil {
			return err
		}
		least, err := count(down)
		if err != nil {
			return err
		}
		e.Token = int64(least)
	default:
		return errWord
	}
	if !isWord(rest) {
		return errWords
	}
	e.Queue = string(rest)
	return nil
}

// ofTask sets the task of e. It was cut when the head has more words: its size and, of a cancel,
// its SHA-1.
func ofTask(e *events.Event, task, head []byte, cut, cancel bool) error {
	e.Task, e.Size = task, len(task)
	if !cut {
		return nil
	}
	size, sum, _ := bytes.Cut(head, []byte{' '})
	var err error
	if e.Size, err = count(size); err != nil {
		return err
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

// count reads a number that an int holds.
func count(b []byte) (int, error) {
	n, err := number(b)
	if err != nil || int64(int(n)) != n {
		return 0, errNumber
	}
	return int(n), nil
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

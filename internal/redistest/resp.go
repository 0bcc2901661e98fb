package redistest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The two directions of RESP2, as far as a proxy needs them: where a command
// or a reply ends. Bytes are passed on as they came.

// maxBulk is what Redis itself allows for one bulk string.
const maxBulk = 512 << 20

var errProtocol = errors.New("redistest: not RESP2")

// readCommand appends one command, an array of bulk strings, to raw. args are
// its parts, slices of the result.
func readCommand(r *bufio.Reader, raw []byte, args [][]byte) ([]byte, [][]byte, error) {
	start := len(raw)
	raw, err := readLine(r, raw)
	if err != nil {
		return raw, args, err
	}
	n, err := number(raw[start:], '*')
	if err != nil {
		return raw, args, err
	}
	// The buffer may move while it grows, so positions are recorded first.
	type span struct{ from, to int }
	var few [16]span
	spans := few[:0]
	for range n {
		line := len(raw)
		if raw, err = readLine(r, raw); err != nil {
			return raw, args, unexpected(err)
		}
		size, err := number(raw[line:], '$')
		if err == nil && size < 0 {
			err = errProtocol
		}
		if err != nil {
			return raw, args, err
		}
		from := len(raw)
		if raw, err = readFull(r, raw, size+2); err != nil {
			return raw, args, err
		}
		spans = append(spans, span{from, from + size})
	}
	for _, s := range spans {
		args = append(args, raw[s.from:s.to:s.to])
	}
	return raw, args, nil
}

// readReply appends one whole reply of a server to raw.
func readReply(r *bufio.Reader, raw []byte) ([]byte, error) {
	start := len(raw)
	for left := 1; left > 0; left-- {
		line := len(raw)
		var err error
		if raw, err = readLine(r, raw); err != nil {
			if line > start {
				err = unexpected(err)
			}
			return raw, err
		}
		switch raw[line] {
		case '+', '-', ':':
		case '$':
			size, err := number(raw[line:], '$')
			if err != nil {
				return raw, err
			}
			if size >= 0 {
				if raw, err = readFull(r, raw, size+2); err != nil {
					return raw, err
				}
			}
		case '*':
			n, err := number(raw[line:], '*')
			if err != nil {
				return raw, err
			}
			left += max(n, 0)
		default:
			return raw, fmt.Errorf("%w: %q", errProtocol, raw[line:])
		}
	}
	return raw, nil
}

// readLine appends a line with its end.
func readLine(r *bufio.Reader, raw []byte) ([]byte, error) {
	start := len(raw)
	for {
		part, err := r.ReadSlice('\n')
		raw = append(raw, part...)
		switch {
		case err == bufio.ErrBufferFull:
		case err != nil:
			if len(raw) > start {
				err = unexpected(err)
			}
			return raw, err
		case !bytes.HasSuffix(raw[start:], []byte("\r\n")) || len(raw)-start < 3:
			return raw, fmt.Errorf("%w: %q", errProtocol, raw[start:])
		default:
			return raw, nil
		}
	}
}

func readFull(r *bufio.Reader, raw []byte, n int) ([]byte, error) {
	start := len(raw)
	if cap(raw)-start < n {
		grown := make([]byte, start, start+n+start/2)
		copy(grown, raw)
		raw = grown
	}
	raw = raw[:start+n]
	_, err := io.ReadFull(r, raw[start:])
	return raw, unexpected(err)
}

// number reads the count in a line such as "$12\r\n".
func number(line []byte, kind byte) (int, error) {
	if line[0] != kind {
		return 0, fmt.Errorf("%w: %q", errProtocol, line)
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	if err != nil || n < -1 || n > maxBulk {
		return 0, fmt.Errorf("%w: %q", errProtocol, line)
	}
	return n, nil
}

// unexpected turns an end in the middle of something into an error of its own.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

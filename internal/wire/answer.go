package wire

import (
	"fmt"
	"strconv"
)

// answer reads a reply, element after element. What was wrong first stays in err, and all that
// follows reads as nothing.
type answer struct {
	of   string // the script or command
	list []any
	at   int
	err  error
}

// listOf begins to read a reply that is a list of at least so many elements.
func listOf(of string, reply any, least int) answer {
	a := answer{of: of}
	list, ok := reply.([]any)
	switch {
	case !ok:
		a.err = unreadable(of, "it is %s, not a list", shown(reply))
	case len(list) < least:
		a.err = unreadable(of, "it has %d elements, not %d", len(list), least)
	default:
		a.list = list
	}
	return a
}

// left is how many elements have not been read. There are none behind an error.
func (a *answer) left() int {
	if a.err != nil {
		return 0
	}
	return len(a.list) - a.at
}

// rows is how many rows of some elements each are left, which have to be whole.
func (a *answer) rows(width int) int {
	if n := a.left(); n%width != 0 {
		a.fail("%d elements in rows of %d", n, width)
	}
	return a.left() / width
}

func (a *answer) next() any {
	if a.left() == 0 {
		a.fail("it ends after %d elements", a.at)
		return nil
	}
	a.at++
	return a.list[a.at-1]
}

func (a *answer) text() string {
	v := a.next()
	s, ok := textIn(v)
	a.want(ok, v, "a text")
	return s
}

func (a *answer) bytes() []byte {
	v := a.next()
	b, ok := bytesIn(v)
	a.want(ok, v, "a text")
	return b
}

func (a *answer) integer() int64 {
	v := a.next()
	n, ok := integerIn(v)
	a.want(ok, v, "a number")
	return n
}

// count is a number that is not below 0.
func (a *answer) count() int {
	v := a.next()
	n, ok := integerIn(v)
	a.want(ok && n >= 0 && int64(int(n)) == n, v, "a count")
	return int(n)
}

// flag is 1 or 0.
func (a *answer) flag() bool {
	v := a.next()
	n, ok := integerIn(v)
	a.want(ok && (n == 0 || n == 1), v, "1 or 0")
	return n == 1
}

// inner begins to read an element that is a list.
func (a *answer) inner() answer {
	v := a.next()
	list, ok := v.([]any)
	a.want(ok, v, "a list")
	return answer{of: a.of, list: list, err: a.err}
}

// all returns what was wrong, also that there is more than was read.
func (a *answer) all() error {
	if n := a.left(); n > 0 {
		a.fail("%d elements more than %d", n, a.at)
	}
	return a.err
}

func (a *answer) want(ok bool, v any, what string) {
	if !ok {
		a.fail("element %d is %s, not %s", a.at, shown(v), what)
	}
}

func (a *answer) fail(format string, args ...any) {
	if a.err == nil {
		a.err = unreadable(a.of, format, args...)
	}
}

func unreadable(of, format string, args ...any) error {
	return fmt.Errorf("the answer of %s cannot be read: "+format, append([]any{of}, args...)...)
}

// shown describes an element in an error.
func shown(v any) string {
	if b, ok := v.([]byte); ok {
		return fmt.Sprintf("%q", Clip(string(b)))
	}
	if list, ok := v.([]any); ok {
		return fmt.Sprintf("a list of %d", len(list))
	}
	return Clip(fmt.Sprintf("%T %v", v, v))
}

func textIn(v any) (string, bool) {
	switch v := v.(type) {
	case []byte:
		return string(v), true
	case string:
		return v, true
	}
	return "", false
}

func bytesIn(v any) ([]byte, bool) {
	switch v := v.(type) {
	case []byte:
		return v, true
	case string:
		return []byte(v), true
	}
	return nil, false
}

// integerIn reads a number: one of Redis, or its decimal digits.
func integerIn(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case []byte:
		n, err := strconv.ParseInt(string(v), 10, 64)
		return n, err == nil
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// The returns that are one element.

func decodeText(of string, reply any) (string, error) {
	s, ok := textIn(reply)
	if !ok {
		return "", unreadable(of, "it is %s, not a text", shown(reply))
	}
	return s, nil
}

func decodeInteger(of string, reply any) (int64, error) {
	n, ok := integerIn(reply)
	if !ok {
		return 0, unreadable(of, "it is %s, not a number", shown(reply))
	}
	return n, nil
}

func decodeCount(of string, reply any) (int, error) {
	n, ok := integerIn(reply)
	if !ok || n < 0 || int64(int(n)) != n {
		return 0, unreadable(of, "it is %s, not a count", shown(reply))
	}
	return int(n), nil
}

// decoded reads a reply, if there is one.
func decoded[T any](reply any, err error, decode func(any) (T, error)) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return decode(reply)
}

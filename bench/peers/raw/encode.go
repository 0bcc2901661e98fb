package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// The arguments and replies of take and settle, as the heads of their files define them.

// processes is a run of processes in a reply of take: count of them, numbered from number, with
// tokens from token.
type processes struct{ number, token, count int64 }

// takeWords asks for count tasks. With park, the membership is recorded as idle when the queue runs
// empty.
func (r *raw) takeWords(count int, park bool) []any {
	flag := "0"
	if park {
		flag = "1"
	}
	words := r.words("take", member, r.next, int64(count), flag)
	r.next += int64(count)
	return words
}

// taken decodes a reply of take. It returns the runs and how many tasks they have.
func taken(reply any, err error) (runs []processes, tasks int, _ error) {
	values, _ := reply.([]any)
	if err == nil && len(values) < 3 {
		err = fmt.Errorf("the answer is %v", reply)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("take: %w", err)
	}
	packed, _ := values[2].([]byte)
	var numbers []int64
	for field := range bytes.FieldsSeq(packed) {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("take: %w", err)
		}
		numbers = append(numbers, n)
	}
	for i := 0; i+2 < len(numbers); i += 3 {
		runs = append(runs, processes{numbers[i], numbers[i+1], numbers[i+2]})
	}
	return runs, len(values) - 3, nil
}

// settleWords finishes processes.
func (r *raw) settleWords(runs []processes) []any {
	var packed []byte
	for _, run := range runs {
		packed = fmt.Appendf(packed, "%d %d %d finish ", run.number, run.token, run.count)
	}
	return r.words("settle", member, packed)
}

// settled returns how many were finished.
func settled(reply any, err error) (int64, error) {
	if err != nil {
		return 0, fmt.Errorf("settle: %w", err)
	}
	words, _ := reply.([]byte)
	return int64(bytes.Count(words, []byte("done"))), nil
}

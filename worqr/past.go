package worqr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Reason is why a persistent task came to the worker that holds it now.
type Reason string

// The reasons for which a hold has ended before.
const (
	First     Reason = ""          // nobody held it before, as far as is known
	Death     Reason = "death"     // its holder died or lapsed
	Handover  Reason = "handover"  // its holder stopped it by Process.Stop
	Drain     Reason = "drain"     // its holder stopped, or stopped serving the queue
	Rebalance Reason = "rebalance" // its holder held more than its share
	Returned  Reason = "returned"  // its handler returned
)

// Past is what a persistent task brings with it from its holder before.
type Past struct {
	Why        Reason
	Token      int64  // of the hold before, 0 for the first
	Checkpoint []byte // the last one that was written, nil for none
}

// Past answers what was before this hold.
func (p *Process) Past() Past { return p.past }

// unpackHolds takes apart what hold_take answers behind the runs: when the next delayed task is
// due, and each task with its past.
func unpackHolds(answer []any) (tasks []any, pasts []string, due time.Duration, err error) {
	var ms int64
	rest, err := redis.Scan(answer, &ms)
	if err != nil || len(rest)%2 != 0 {
		return nil, nil, 0, fmt.Errorf("an answer that cannot be read: %w", err)
	}
	for i := 0; i < len(rest); i += 2 {
		past, err := redis.String(rest[i+1], nil)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("an answer that cannot be read: %w", err)
		}
		tasks, pasts = append(tasks, rest[i]), append(pasts, past)
	}
	return tasks, pasts, time.Duration(max(0, ms)) * time.Millisecond, nil
}

// parsePast reads 'why token' and, behind a line feed, the checkpoint.
func parsePast(row string) (Past, error) {
	if row == "" {
		return Past{}, nil
	}
	head, data, kept := strings.Cut(row, "\n")
	why, number, _ := strings.Cut(head, " ")
	token, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return Past{}, fmt.Errorf("an answer that cannot be read: %w", err)
	}
	past := Past{Why: Reason(why), Token: token}
	if kept {
		past.Checkpoint = []byte(data)
	}
	return past, nil
}

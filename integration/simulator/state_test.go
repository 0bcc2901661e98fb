package simulator

import (
	"slices"
	"strconv"
	"strings"
)

// state is everything that is in Redis.
type state struct {
	meshState
	raw    []string // as dump answered it
	queues map[string]*queueState
	other  []string // keys that nobody should have made
}

// meshState is what is in the mesh's slot.
type meshState struct {
	registered, beating, listed map[string]bool // workers, workers, queues
	workmap                     map[string][]string
	info                        map[string]bool
}

type queueState struct {
	tasks     []string // the front last
	members   map[string]int64
	returning map[string]bool
	idle      map[string]bool
	token     int64
	closed    int64
	marks     map[string]int64
	held      map[string][]holding // by membership, the oldest token first
	tasksOf   map[string][]string  // by process: one, when all is well
	hold      holdState
}

type holding struct {
	process string
	token   int64
}

func newMeshState() meshState {
	return meshState{
		registered: map[string]bool{}, beating: map[string]bool{}, listed: map[string]bool{},
		workmap: map[string][]string{}, info: map[string]bool{},
	}
}

func newQueueState() *queueState {
	return &queueState{
		members: map[string]int64{}, returning: map[string]bool{}, idle: map[string]bool{}, marks: map[string]int64{},
		held: map[string][]holding{}, tasksOf: map[string][]string{},
	}
}

func (s *state) meshKey(key string, values []string) error {
	kind, id, _ := strings.Cut(strings.TrimPrefix(key, meshKey+":"), ":")
	switch kind {
	case "workers":
		fill(s.registered, values)
	case "queues":
		fill(s.listed, values)
	case "worker":
		s.beating[id] = true
	case "workmap":
		slices.Sort(values)
		s.workmap[id] = values
	case "info":
		s.info[id] = true
	case "mesh", "sweep", "rota", "present", "watch", "deputy":
	default:
		s.other = append(s.other, key)
	}
	return nil
}

func (q *queueState) queueKey(key string, values []string, other *[]string) (err error) {
	kind, id, _ := strings.Cut(key, ":")
	switch kind {
	case "tasks":
		q.tasks = values
	case "workers":
		for i := 0; i < len(values); i += 2 {
			if q.members[values[i]], err = strconv.ParseInt(values[i+1], 10, 64); err != nil {
				return err
			}
		}
	case "returning":
		fill(q.returning, values)
	case "idle":
		fill(q.idle, values)
	case "token":
		q.token, err = strconv.ParseInt(values[0], 10, 64)
	case "closed":
		q.closed, err = strconv.ParseInt(values[0], 10, 64)
	case "cancels":
		for i := 0; i < len(values); i += 2 {
			if q.marks[values[i]], err = score(values[i+1]); err != nil {
				return err
			}
		}
	case "processes":
		for i := 0; i < len(values); i += 2 {
			token, err := score(values[i+1])
			if err != nil {
				return err
			}
			q.held[id] = append(q.held[id], holding{id + "." + values[i], token})
		}
	case "process":
		q.tasksOf[id] = values
	default:
		var known bool
		if known, err = q.hold.read(kind, id, values); !known {
			*other = append(*other, key)
		}
	}
	return err
}

func fill(set map[string]bool, values []string) {
	for _, v := range values {
		set[v] = true
	}
}

// score reads a score, which the embedded default writes as a float.
func score(s string) (int64, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	return int64(f), err
}

// task returns what a process holds.
func (q *queueState) task(process string) string {
	if t := q.tasksOf[process]; len(t) == 1 {
		return t[0]
	}
	return ""
}

// tokenOf returns under which token a process is in hand, 0 when it is not.
func (q *queueState) tokenOf(process string) int64 {
	for _, h := range q.held[membershipOf(process)] {
		if h.process == process {
			return h.token
		}
	}
	return 0
}

// membershipOf cuts the number off a process id, or off a membership to give its worker.
func membershipOf(process string) string {
	if i := strings.LastIndexByte(process, '.'); i >= 0 {
		return process[:i]
	}
	return process
}

func workerOf(membership string) string { return membershipOf(membership) }

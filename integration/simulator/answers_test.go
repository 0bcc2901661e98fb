package simulator

import (
	"fmt"
	"strings"
)

// brought reads what a take of membership m answered: tasks, whose numbers and tokens stand in
// runs.
func brought(m string, r reply) ([]process, error) {
	if len(r.words) < 3 {
		return nil, fmt.Errorf("it answered %v", r)
	}
	tasks := r.words[3:]
	var list []process
	runs := strings.Fields(r.words[2])
	for ; len(runs) >= 3; runs = runs[3:] {
		number, token, count := integer(runs[0]), integer(runs[1]), integer(runs[2])
		if count < 1 || count > int64(len(tasks)) {
			return nil, fmt.Errorf("a run of %d, and %d tasks are left: %v", count, len(tasks), r)
		}
		for i := range count {
			list = append(list, process{fmt.Sprintf("%s.%d", m, number+i), token + i, tasks[i]})
		}
		tasks = tasks[count:]
	}
	if len(runs)+len(tasks) > 0 {
		return nil, fmt.Errorf("no run has the tasks %q, and %q is no run: %v", tasks, runs, r)
	}
	return list, nil
}

// packed is how settle is told what is to become of processes: in runs, where numbers and tokens go
// on and the outcome is the same. What goes to the front is named one by one, as a run would turn
// its order round.
func (s settling) packed() string {
	var runs []string
	for at := 0; at < len(s.processes); {
		first, n := s.processes[at], 1
		for ; at+n < len(s.processes) && s.outcomes[at] != "front"; n++ {
			p := s.processes[at+n]
			if numberOf(p.id) != numberOf(first.id)+int64(n) || p.token != first.token+int64(n) || s.outcomes[at+n] != s.outcomes[at] {
				break
			}
		}
		runs = append(runs, fmt.Sprintf("%d %d %d %s", numberOf(first.id), first.token, n, s.outcomes[at]))
		at += n
	}
	return strings.Join(runs, " ")
}

// outcomes reads what a settle answered, a word for each process that it was told of.
func outcomes(r reply) []string {
	if len(r.words) != 1 {
		return nil
	}
	return strings.Split(r.words[0], " ")
}

package worqr

import (
	"context"
	"strconv"

	"github.com/gomodule/redigo/redis"
)

// add stores one chunk of persistent tasks, but for those that are present. fresh asks the caller
// to note the queue.
func (m *Mesh) add(ctx context.Context, queue, generation string, tasks [][]byte) (fresh bool, added int, err error) {
	args := make([]any, 0, 1+len(tasks))
	args = append(args, generation)
	for _, task := range tasks {
		if task == nil {
			task = []byte{}
		}
		args = append(args, task)
	}
	answer, err := redis.Strings(m.queue(ctx, addScript, queue, args...))
	if err != nil || len(answer) != 3 {
		return false, 0, err
	}
	added, err = strconv.Atoi(answer[2])
	return answer[1] == "1", added, err
}

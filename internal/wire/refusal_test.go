package wire_test

import (
	"errors"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/wire"
)

// The forms in which one refusal arrives: of a command, of one in a script by redis.call, and by
// redis.pcall. The first two of the longer ones are those of Redis 6.2.
func TestRefusalsAreSorted(t *testing.T) {
	t.Parallel()
	const readonly = "READONLY You can't write against a read only replica."
	for text, want := range map[string]struct{ misled, passes bool }{
		readonly: {true, true},
		readonly + " script: 1f8f4cfba6f3375f8c4ec02b9de4361a5dea5c64, on @user_script:1.":                                             {true, true},
		"ERR Error running script (call to f_1f8f4cfba6f3375f8c4ec02b9de4361a5dea5c64): @user_script:1: @user_script: 1: -" + readonly: {true, true},
		"@user_script: 1: -" + readonly:                                                                {true, true},
		"@user_script: 1: -NOREPLICAS Not enough good replicas to write.":                              {true, true},
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":             {true, true},
		"LOADING Redis is loading the dataset in memory":                                               {true, true},
		"MISCONF Errors writing to the AOF file: No space left on device":                              {true, true},
		"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)": {true, true},
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":       {false, true},
		"CLUSTERDOWN The cluster is down":                                                              {false, true},
		"TRYAGAIN Multiple keys request during rehashing of slot":                                      {false, true},
		"ERR max number of clients reached":                                                            {false, true},
		"NOPERM this user has no permissions to run the 'set' command":                                 {false, false},
		"NOAUTH Authentication required.":                                                              {false, false},
		"MOVED 866 127.0.0.1:7001":                                                                     {false, false},
		"ERR unknown command 'READONLY'":                                                               {false, false},
		"ERR Error running script (call to f_1f8f): @user_script:1: WRONGTYPE Operation against a key": {false, false},
		"OOM command not allowed when used memory > 'maxmemory'.":                                      {false, false},
		"FENCED this membership is no longer in the queue":                                             {false, false},
	} {
		if got := wire.Misled(redis.Error(text)); got != want.misled {
			t.Errorf("misled is %v for %q", got, text)
		}
		if got := wire.Passes(redis.Error(text)); got != want.passes {
			t.Errorf("passes is %v for %q", got, text)
		}
	}
	if wire.Misled(errors.New("READONLY of nobody")) {
		t.Error("an error that no server answered is a refusal")
	}
}

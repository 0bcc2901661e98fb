package main

import (
	"errors"
	"fmt"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/embedded"
)

// markUnsound finds the mistakes in scripts that do not compile: they are none. The tests of Go
// find theirs when they are compiled.
func markUnsound(t *tree, list []*result) error {
	server, err := embedded.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	conn, err := redis.Dial("tcp", server.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, m := range list {
		if source(m.File) {
			continue
		}
		text, err := t.read(m.File)
		if err != nil {
			return err
		}
		if _, err := conn.Do("SCRIPT", "LOAD", text); err != nil {
			return fmt.Errorf("%s: %w", m.File, err)
		}
		var refusal redis.Error
		if _, err = conn.Do("SCRIPT", "LOAD", m.apply(text)); errors.As(err, &refusal) {
			m.Status = unsound
		} else if err != nil {
			return err
		}
	}
	return nil
}

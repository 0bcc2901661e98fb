package worqrtest

import (
	"errors"
	"fmt"

	"github.com/gomodule/redigo/redis"
)

// removeKeys deletes the keys of a namespace from the database of a URL. A server is shared by many
// tests, so none may flush it.
func removeKeys(url, namespace string) error {
	c, err := redis.DialURL(url, redis.DialConnectTimeout(openLimit), redis.DialReadTimeout(openLimit), redis.DialWriteTimeout(openLimit))
	if err != nil {
		return errors.New("the keys of the test are left: no connection to the server of " + envURL) // err may show a password
	}
	defer c.Close()
	for _, pattern := range []string{"{" + namespace + "}:*", namespace + ":{*"} {
		for cursor := "0"; ; {
			page, err := redis.Values(c.Do("SCAN", cursor, "MATCH", pattern, "COUNT", 1000))
			if err != nil {
				return fmt.Errorf("the keys of the test are left: %w", err)
			}
			var keys []any
			if _, err := redis.Scan(page, &cursor, &keys); err != nil {
				return fmt.Errorf("the keys of the test are left: %w", err)
			}
			if len(keys) > 0 {
				if _, err := c.Do("UNLINK", keys...); err != nil {
					return fmt.Errorf("the keys of the test are left: %w", err)
				}
			}
			if cursor == "0" {
				break
			}
		}
	}
	return nil
}

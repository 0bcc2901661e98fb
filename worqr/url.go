package worqr

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/presence"
)

// Connections that this package dials.
const (
	connectTimeout = 5 * time.Second
	ioTimeout      = 5 * time.Second
)

// dialer returns a function that dials the server of a URL, and the database in it. No part of the
// URL but scheme, host and path goes into an error: the rest may be a secret.
func dialer(raw string) (func(context.Context) (redis.Conn, error), int, error) {
	refuse := func(why string) (func(context.Context) (redis.Conn, error), int, error) {
		return nil, 0, fmt.Errorf("%w: url: %s; use redis://, rediss:// or unix://, as redis://user:password@host:6379/0", ErrConfig, why)
	}
	u, err := url.Parse(raw)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) && !strings.Contains(raw, "@") {
			return refuse(parse.Err.Error())
		}
		return refuse("it cannot be parsed")
	}
	if u.Opaque != "" || u.Scheme == "" {
		return refuse("it has no scheme")
	}
	database := strings.TrimPrefix(u.Path, "/")
	network, address := "tcp", ""
	switch u.Scheme {
	case "redis", "rediss":
		host, port := u.Hostname(), u.Port()
		if host == "" {
			host = "localhost"
		}
		if port == "" {
			port = "6379"
		}
		address = net.JoinHostPort(host, port)
	case "unix":
		query, err := url.ParseQuery(u.RawQuery)
		if err != nil {
			return refuse("its query cannot be parsed")
		}
		network, address, database = "unix", u.Path, query.Get("db")
		if address == "" {
			return refuse("unix:// needs the path of a socket")
		}
	default:
		return refuse(fmt.Sprintf("unknown scheme %q", u.Scheme))
	}
	if strings.Contains(database, "@") {
		return refuse("it cannot be parsed: escape what stands in the password")
	}
	db := 0
	if database != "" {
		if db, err = strconv.Atoi(database); err != nil || db < 0 {
			return refuse(fmt.Sprintf("database %q is not a number from 0", database))
		}
	}
	options := []redis.DialOption{
		redis.DialConnectTimeout(connectTimeout), redis.DialReadTimeout(ioTimeout), redis.DialWriteTimeout(ioTimeout),
		redis.DialDatabase(db), redis.DialUseTLS(u.Scheme == "rediss"),
		redis.DialTLSHandshakeTimeout(connectTimeout),
		redis.DialContextFunc(presence.Through((&net.Dialer{Timeout: connectTimeout, KeepAlive: 5 * time.Minute}).DialContext)),
	}
	secret := ""
	if u.User != nil {
		name := u.User.Username()
		password, both := u.User.Password()
		if secret = password; !both { // as redis-cli reads it
			name, secret = "", name
		}
		options = append(options, redis.DialUsername(name), redis.DialPassword(secret))
	}
	return func(ctx context.Context) (redis.Conn, error) {
		conn, err := redis.DialContext(ctx, network, address, options...)
		if err != nil && secret != "" && strings.Contains(err.Error(), secret) {
			// a server without AUTH repeats what it was given
			err = redis.Error(strings.ReplaceAll(err.Error(), secret, "***"))
		}
		return conn, err
	}, db, nil
}

// bounded sets a dial that knows no context an end: a beat that hangs in it would cost the worker
// its lease. What is dialled after the end is closed.
func bounded(dial func() (redis.Conn, error)) func(context.Context) (redis.Conn, error) {
	type dialled struct {
		conn redis.Conn
		err  error
	}
	return func(ctx context.Context) (redis.Conn, error) {
		result := make(chan dialled)
		go func() { // ends with dial
			conn, err := dial()
			select {
			case result <- dialled{conn, err}:
			case <-ctx.Done():
				if err == nil {
					_ = conn.Close() // nobody wants it any more
				}
			}
		}()
		select {
		case d := <-result:
			return d.conn, d.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

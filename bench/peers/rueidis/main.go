// Rueidis runs rueidis as a peer of the transport alone: its automatic pipelining, with its
// defaults.
package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"

	"github.com/redis/rueidis"

	"github.com/worqr/worqr-go/bench/adapter"
)

func main() {
	adapter.Main(adapter.Peer{
		Module: "github.com/redis/rueidis",
		Config: "defaults, without client-side caching",
		Open:   open,
	})
}

func open(ctx context.Context, o adapter.Options) (*adapter.Session, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{o.Redis}, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		return nil, err
	}
	const script = "return ARGV[1]"
	if err := client.Do(ctx, client.B().ScriptLoad().Script(script).Build()).Error(); err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(script))
	sha := hex.EncodeToString(sum[:])
	return &adapter.Session{Call: func(ctx context.Context) error {
		return client.Do(ctx, client.B().Evalsha().Sha1(sha).Numkeys(1).Key("key").Arg("0123456789abcdef0123456789abcdef").Build()).Error()
	}}, nil
}

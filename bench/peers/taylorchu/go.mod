module github.com/worqr/worqr-go/bench/peers/taylorchu

go 1.25.0

replace github.com/worqr/worqr-go/bench/adapter => ../../adapter

require (
	github.com/go-redis/redis/v8 v8.11.5
	github.com/taylorchu/work v0.2.10
	github.com/worqr/worqr-go/bench/adapter v0.0.0-00010101000000-000000000000
)

require (
	github.com/cenkalti/backoff/v4 v4.1.3 // indirect
	github.com/cespare/xxhash/v2 v2.1.2 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	github.com/google/uuid v1.3.0 // indirect
	github.com/vmihailenco/msgpack/v5 v5.3.5 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
)

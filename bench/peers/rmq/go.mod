module github.com/worqr/worqr-go/bench/peers/rmq

go 1.25.0

replace github.com/worqr/worqr-go/bench/adapter => ../../adapter

require (
	github.com/adjust/rmq/v5 v5.2.0
	github.com/redis/go-redis/v9 v9.0.3
	github.com/worqr/worqr-go/bench/adapter v0.0.0-00010101000000-000000000000
)

require (
	github.com/alicebob/gopher-json v0.0.0-20230218143504-906a9b012302 // indirect
	github.com/alicebob/miniredis/v2 v2.30.4 // indirect
	github.com/cespare/xxhash/v2 v2.2.0 // indirect
	github.com/davecgh/go-spew v1.1.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/stretchr/testify v1.7.0 // indirect
	github.com/yuin/gopher-lua v1.1.0 // indirect
	gopkg.in/yaml.v3 v3.0.0-20200313102051-9f266ea9e77c // indirect
)

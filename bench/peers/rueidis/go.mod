module github.com/worqr/worqr-go/bench/peers/rueidis

go 1.25.0

replace github.com/worqr/worqr-go/bench/adapter => ../../adapter

require (
	github.com/redis/rueidis v1.0.79
	github.com/worqr/worqr-go/bench/adapter v0.0.0-00010101000000-000000000000
)

require golang.org/x/sys v0.47.0 // indirect

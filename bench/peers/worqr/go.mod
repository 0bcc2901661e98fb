module github.com/worqr/worqr-go/bench/peers/worqr

go 1.25.0

replace github.com/worqr/worqr-go/bench/adapter => ../../adapter

replace github.com/worqr/worqr-go => ../../..

require (
	github.com/gomodule/redigo v1.9.3
	github.com/worqr/worqr-go v0.0.0-00010101000000-000000000000
	github.com/worqr/worqr-go/bench/adapter v0.0.0-00010101000000-000000000000
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-isatty v0.0.20 // indirect
	github.com/rs/zerolog v1.35.1 // indirect
	golang.org/x/sys v0.29.0 // indirect
)

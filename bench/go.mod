module github.com/worqr/worqr-go/bench

go 1.25.0

require github.com/worqr/worqr-go/bench/adapter v0.0.0-00010101000000-000000000000

replace github.com/worqr/worqr-go/bench/adapter => ./adapter

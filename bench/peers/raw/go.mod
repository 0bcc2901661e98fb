module github.com/worqr/worqr-go/bench/peers/raw

go 1.25.0

replace github.com/worqr/worqr-go/bench/adapter => ../../adapter

require github.com/worqr/worqr-go/bench/adapter v0.0.0-00010101000000-000000000000

module github.com/worqr/worqr-go/bench/adapter

go 1.25.0

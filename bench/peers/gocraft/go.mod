module github.com/worqr/worqr-go/bench/peers/gocraft

go 1.25.0

replace github.com/worqr/worqr-go/bench/adapter => ../../adapter

require (
	github.com/gocraft/work v0.5.1
	github.com/gomodule/redigo v1.9.3
	github.com/worqr/worqr-go/bench/adapter v0.0.0-00010101000000-000000000000
)

require github.com/robfig/cron v1.2.0 // indirect

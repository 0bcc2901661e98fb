package main

// kind is what a program stands for.
type kind int

const (
	library   kind = iota // does what this library does
	ceiling               // the same scripts without a library
	transport             // only the calls of one script
)

// peer is a program and one of its configurations.
type peer struct {
	Name     string // as it is shown
	Dir      string // below peers/
	Variant  string
	Kind     kind
	Postgres bool
	Absent   string // why there is no program for it
}

const (
	ours = "worqr"
	raw  = "raw scripts"
)

var peers = []peer{
	{Name: ours, Dir: "worqr"},
	{Name: "asynq", Dir: "asynq"},
	{Name: "gocraft/work", Dir: "gocraft"},
	{Name: "taylorchu/work", Dir: "taylorchu"},
	{Name: "rmq", Dir: "rmq"},
	{Name: "rmq, 1 ms polling", Dir: "rmq", Variant: "1ms"},
	{Name: "redis-work-queue", Absent: "its Go client is unknown to Go's checksum database, so it cannot be fetched and verified"},
	{Name: "watermill-redisstream", Dir: "watermill"},
	{Name: "river (PostgreSQL)", Dir: "river", Postgres: true},
	{Name: raw, Dir: "raw", Kind: ceiling},
	{Name: "rueidis", Dir: "rueidis", Kind: transport},
}

// quickPeers are the peers of QUICK.
var quickPeers = []string{"worqr", "asynq", "gocraft", "raw"}

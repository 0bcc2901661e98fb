package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/worqr/worqr-go/bench/adapter"
)

func TestTheLastLineIsTheResult(t *testing.T) {
	r, err := parse([]byte("a library says hello\n{\"event\":\"ready\"}\n{\"mode\":\"mixed\",\"rate\":12.5}\n"))
	if err != nil || r.Rate != 12.5 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := parse([]byte("nothing\n")); err == nil {
		t.Error("no result is a result")
	}
	if _, err := parse([]byte(`{"mode":"idle","error":"no","unsupported":true}`)); !errors.Is(err, adapter.ErrUnsupported) {
		t.Errorf("the error is %v", err)
	}
	if _, err := parse([]byte(`{"mode":"idle","error":"refused"}`)); err == nil || errors.Is(err, adapter.ErrUnsupported) {
		t.Errorf("the error is %v", err)
	}
}

// The programs are scripts here, which record that they ran; the Redis is a real one.
func TestRoundsAreInterleaved(t *testing.T) {
	root := t.TempDir()
	redis, err := startRedis(t.Context(), "..")
	if err != nil {
		t.Fatal(err)
	}
	defer redis.stop(syscall.SIGTERM)
	log := filepath.Join(root, "log")
	script := func(name, result string) {
		text := fmt.Sprintf("#!/bin/sh\necho %s >>%s\necho '%s'\n", name, log, result)
		if err := errors.Join(os.MkdirAll(filepath.Join(root, ".bin"), 0o755), os.WriteFile(program(root, name), []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	script("a", `{"mode":"mixed","count":1,"seconds":2,"rate":100}`)
	script("b", `{"mode":"mixed","error":"it broke"}`)
	script("c", `{"mode":"mixed","error":"mixed: no","unsupported":true}`)
	script("d", `{"mode":"mixed","count":1,"seconds":2,"rate":300}`)
	book := &figures{}
	f := &field{root: root, redis: redis}
	f.carryOut(t.Context(), []cell{{Figure: "mixed", Mode: "mixed", Concurrency: 64, Seconds: 1, Rounds: 3}},
		[]peer{{Name: "a", Dir: "a"}, {Name: "b", Dir: "b"}, {Name: "c", Dir: "c"}, {Name: "d", Dir: "d"}, {Name: "e", Dir: "a", Kind: ceiling}}, book)
	order, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(string(order)), ""); got != "abcdadad" {
		t.Errorf("the order was %s", got)
	}
	if a := book.find("mixed", 64, "a"); a == nil || len(a.Runs) != 3 || a.Median.Rate != 100 {
		t.Errorf("a has %+v", a)
	}
	if len(book.skipped) != 1 || book.skipped[0].Peer != "b" || !strings.Contains(book.skipped[0].Reason, "it broke") {
		t.Errorf("skipped are %v", book.skipped)
	}
}

func TestARunIsAsLongAsThePeerNeeds(t *testing.T) {
	mixed := cell{Mode: "mixed", Seconds: 1}
	first := mixed.fit(pace{})
	k := pace{}.learn(first, adapter.Result{Seconds: 2, Rate: 8000}) // half a second of producing took two seconds
	if got := mixed.fit(k).Seconds; got != 0.25 {
		t.Errorf("the producers run for %v s", got)
	}
	if got := (cell{Mode: "drain", Seconds: 1}).fit(k).Tasks; got != 32_000 {
		t.Errorf("the consumers get %d tasks", got)
	}
	if got := (cell{Mode: "memory", Tasks: 5}).fit(k); got.Tasks != 5 {
		t.Errorf("a number that was given became %d", got.Tasks)
	}
	if k2 := k.learn(cell{Mode: "wake"}, adapter.Result{Seconds: 9}); k2 != k {
		t.Errorf("a wake-up taught %+v", k2)
	}
}

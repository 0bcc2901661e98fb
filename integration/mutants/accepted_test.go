package main

import "testing"

func TestAcceptedMistakesHaveAReason(t *testing.T) {
	t.Parallel()
	reasons, err := readAccepted("# about\n\nx.lua\n- tidy()\n+\ntwo lines\nof reason\n")
	m := mutant{File: "worqr/lua/x.lua", Old: "tidy()"}
	if err != nil || len(reasons) != 1 || reasons[m.key()] != "two lines of reason" {
		t.Errorf("got %q, %v", reasons, err)
	}
	if _, err := readAccepted("x.lua\n- tidy()\n+\n"); err == nil {
		t.Error("one without a reason is read")
	}
}

// accepted.txt names mistakes that are still made: else run says so, and nobody runs it often.
func TestTheAcceptedFileIsCurrent(t *testing.T) {
	t.Parallel()
	copied, err := copyTree("../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, list, err := choose(copied, []string{""}, 1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 1000 {
		t.Errorf("only %d mistakes are made", len(list))
	}
	for _, r := range list {
		if r.Status == unsound {
			t.Errorf("%v\ndoes not compile", r)
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/worqr/worqr-go/worqr"
)

// done enters into the books that a worker took, hashed and finished a file.
func done(b *books, worker int, path, process string, token int64, sum string) {
	b.enter(worker, report{Kind: took, Process: process, Token: token, Task: []byte(path)})
	b.enter(worker, report{Kind: hashed, Process: process, Task: []byte(path), Sum: sum})
	b.enter(worker, report{Kind: finished, Process: process, Task: []byte(path), Won: true})
}

func TestTheBooksFindWhatIsWrong(t *testing.T) {
	for what, test := range map[string]struct {
		report func(b *books)
		want   result
	}{
		"nothing": {func(*books) {}, result{files: 2, verified: 2}},
		"a finish that only Redis told of": {func(b *books) {
			b.files[1].ends = nil
			b.witness([]byte("b"), "p2")
		}, result{files: 2, verified: 2}},
		"a finish that both told of":  {func(b *books) { b.witness([]byte("b"), "p2") }, result{files: 2, verified: 2}},
		"a file that nobody finished": {func(b *books) { b.files[1].ends = nil }, result{files: 2, verified: 1, lost: 1}},
		"a file that two finished":    {func(b *books) { done(b, 1, "b", "p3", 3, "sum b") }, result{files: 2, verified: 2, twice: 1}},
		"a process finished twice": {func(b *books) {
			b.enter(1, report{Kind: finished, Process: "p2", Task: []byte("b"), Won: true})
		}, result{files: 2, verified: 2, twice: 1}},
		"a finish told to all twice": {func(b *books) {
			b.witness([]byte("b"), "p2")
			b.witness([]byte("b"), "p2")
		}, result{files: 2, verified: 2, twice: 1}},
		"a finish refused": {func(b *books) {
			b.enter(1, report{Kind: finished, Process: "p2", Task: []byte("b")})
		}, result{files: 2, verified: 2, refused: 1}},
		"a wrong sum": {func(b *books) { b.files[0].sum = "sum b" }, result{files: 2, verified: 1, wrong: 1}},
		"two sums": {func(b *books) {
			b.enter(1, report{Kind: hashed, Process: "p0", Task: []byte("a"), Sum: "other"})
			b.enter(1, report{Kind: hashed, Process: "p1", Task: []byte("a"), Sum: "sum a"})
		}, result{files: 2, verified: 1, wrong: 1}},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBooks([]string{"a", "b"}, 2)
			done(b, 0, "a", "p1", 1, "sum a")
			done(b, 1, "b", "p2", 2, "sum b")
			test.report(b)
			if got := b.judge(func(path string) (string, error) { return "sum " + path, nil }); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestTheBooksDoNotVerifyWhatTheParentCannotRead(t *testing.T) {
	b := newBooks([]string{"a"}, 1)
	done(b, 0, "a", "p1", 1, "")
	if got := b.judge(func(string) (string, error) { return "", errors.New("no such file") }); got.verified != 0 || got.wrong != 1 {
		t.Errorf("got %+v, want none verified", got)
	}
}

// takes enters takes of these files one after the other.
func takes(b *books, from int64, paths ...string) {
	for i, path := range paths {
		token := from + int64(i)
		b.enter(0, report{Kind: took, Process: fmt.Sprint("p", token), Token: token, Task: []byte(path)})
	}
}

func TestOrder(t *testing.T) {
	for what, test := range map[string]struct {
		again   []string // taken after the reclaim, in this order
		waiting string   // what waited when it was reclaimed
		ends    string   // what the dead one had finished
		n       int
		err     string
	}{
		"kept":              {again: []string{"a", "b", "c", "d", "e"}, waiting: "abcde", n: 3},
		"kept, taken early": {again: []string{"a", "b", "c", "d", "e"}, waiting: "cde", n: 3},
		"last finish":       {again: []string{"b", "c", "d", "e"}, waiting: "bcde", ends: "a", n: 2},
		"reversed":          {again: []string{"c", "b", "a", "d", "e"}, waiting: "cbade", n: 1, err: "too early"},
		"at the back":       {again: []string{"d", "e", "a", "b", "c"}, waiting: "deabc", n: 3, err: "stood behind"},
		"one too late":      {again: []string{"a", "b", "d", "c", "e"}, waiting: "de", n: 3, err: "in between"},
		"one not at all":    {again: []string{"a", "b", "d", "e"}, waiting: "abde", n: 2, err: "not taken again"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBooks(strings.Split("abcde", ""), 1)
			takes(b, 1, "a", "b") // it died before it could report c
			v := &victim{held: []worqr.ProcessInfo{
				{ID: "p1", Token: 1, Task: []byte("a")}, {ID: "p2", Token: 2, Task: []byte("b")}, {ID: "p3", Token: 3, Task: []byte("c")},
			}}
			for _, path := range test.ends {
				b.witness([]byte(string(path)), "p1")
			}
			var waiting [][]byte
			for _, path := range test.waiting {
				waiting = append(waiting, []byte(string(path)))
			}
			all := []*victim{v}
			v.behind = b.inPlace(v, all, waiting)
			takes(b, 10, test.again...)
			n, first, err := b.order(v, all)
			if n != test.n || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%d again, %v; want %d, %q", n, err, test.n, test.err)
			}
			if first.IsZero() {
				t.Error("no time of the first one")
			}
		})
	}
}

func TestSumsGiveUpWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(worqr.ErrLapsed)
	if _, err := sumOf(ctx, "books_test.go"); !errors.Is(err, worqr.ErrLapsed) {
		t.Errorf("%v, want the cause", err)
	}
	if sum, err := sumOf(t.Context(), "books_test.go"); len(sum) != 64 || err != nil {
		t.Errorf("%q, %v; want a sum", sum, err)
	}
}

func TestTornReports(t *testing.T) {
	var got []report
	readReports(strings.NewReader(`{"Kind":"joined","Worker":"w"}`+"\n"+`{"Kind":"took","Pro`), func(r report) { got = append(got, r) })
	if len(got) != 1 || got[0].Worker != "w" {
		t.Errorf("got %+v, want the one that is whole", got)
	}
}

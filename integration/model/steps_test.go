package model

import (
	"fmt"

	"pgregory.net/rapid"
)

// step is one verb with numbers, from which it picks what it is about. They mean something in any
// state, so that rapid can leave out steps of a sequence that has failed.
type step struct {
	verb    string
	a, b, c int
}

func (s step) GoString() string { return fmt.Sprintf("%s(%d,%d,%d)", s.verb, s.a, s.b, s.c) }

// act is a verb with its weight.
type act[T any] struct {
	name   string
	weight int
	do     func(T, step)
}

// verbs are those of one-shot queues.
var verbs = []act[*fleet]{
	{"nothing", 1, func(*fleet, step) {}}, // what rapid puts in the place of a step that does not matter
	{"enqueue", 20, (*fleet).enqueue},
	{"take", 34, (*fleet).take},
	{"finish", 10, (*fleet).finish},
	{"stop", 6, (*fleet).stop},
	{"stop to back", 4, (*fleet).stopToBack},
	{"settle again", 4, (*fleet).settleAgain},
	{"cancel", 7, (*fleet).cancel},
	{"delete", 3, (*fleet).deleteQueue},
	{"list", 5, (*fleet).list},
	{"start work", 7, (*fleet).startWork},
	{"stop work", 5, (*fleet).stopWork},
	{"start", 6, (*fleet).startAnother},
	{"fail own", 3, (*fleet).failOwn},
	{"fail other", 3, (*fleet).failOther},
	{"die", 8, (*fleet).kill},
	{"lapse", 3, (*fleet).lapse},
	{"flicker", 2, (*fleet).flicker},
	{"a moment", 4, (*fleet).moment},
	{"long", 9, (*fleet).long},
	{"lossy", 10, (*fleet).lossy},
	{"fence", 3, (*fleet).fence},
	{"misuse", 4, (*fleet).misuse},
}

// steps generates a sequence of verbs.
func steps[T any](verbs []act[T]) *rapid.Generator[[]step] {
	var table []string
	for _, v := range verbs {
		for range v.weight {
			table = append(table, v.name)
		}
	}
	one := rapid.Custom(func(t *rapid.T) step {
		return step{table[number.Draw(t, "verb")%len(table)], number.Draw(t, "a"), number.Draw(t, "b"), number.Draw(t, "c")}
	})
	return rapid.SliceOfN(one, 7, 60)
}

// number is drawn bit by bit, as rapid draws integers with a bias to small ones.
var number = rapid.Custom(func(t *rapid.T) (n int) {
	for range 10 {
		n *= 2
		if rapid.Bool().Draw(t, "bit") {
			n++
		}
	}
	return n
})

package witness

import (
	"math"
	"slices"
	"time"
)

// span is one hold by one holder.
type span struct {
	key     *key
	from    *session
	id      uint64
	token   int64
	reason  string
	begin   instant
	told    instant // the latest it was certainly held, apart from the ticks while it is confirmed
	denied  bool    // its holder stated that it no longer holds
	refused instant // at the latest here; after told
	end     instant // its holder stated that it has stopped, or its connection ended
	state   state
	counted bool // how the key came to it is in the totals
}

type state uint8

const (
	held state = iota
	stopping
	ended
	cut
)

func (s state) String() string { return [...]string{"held", "stopping", "ended", "cut"}[s] }

func (p *span) settled() bool { return p.state >= ended }

const ever = time.Duration(math.MaxInt64)

// last returns the latest instant at which it was certainly held.
func (p *span) last() instant {
	if p.state == held && p.id <= p.from.upTo {
		return p.told.later(p.from.tick)
	}
	return p.told
}

// open returns until when it may have been held, and until when its holder may still have acted on
// it.
func (p *span) open() (hold, stop time.Duration) {
	hold, stop = ever, ever
	if p.settled() {
		hold, stop = p.end.hi, p.end.hi
	}
	if p.denied {
		hold = min(hold, p.refused.hi)
	}
	return hold, stop
}

// judge returns the strongest true statement on how two spans met. An empty why means that it is
// certain. met is false when they certainly did not meet; spans that only touch have not met.
func judge(a, b *span) (why string, from, to time.Duration, met bool) {
	al, bl := a.last(), b.last()
	if a.begin.hi < bl.lo && b.begin.hi < al.lo {
		return "", max(a.begin.hi, b.begin.hi), min(al.lo, bl.lo), true
	}
	aHold, aStop := a.open()
	bHold, bStop := b.open()
	for _, open := range []struct {
		why      string
		aTo, bTo time.Duration
	}{{"clock", al.hi, bl.hi}, {"silent", aHold, bHold}, {"stopping", aStop, bStop}} {
		if a.begin.lo < open.bTo && b.begin.lo < open.aTo {
			return open.why, max(a.begin.lo, b.begin.lo), min(open.aTo, open.bTo), true
		}
	}
	return "", 0, 0, false
}

// decided reports whether nothing that is still to come can change how two spans met.
func decided(a, b *span) bool {
	_, aStop := a.open()
	_, bStop := b.open()
	return (a.settled() || a.last().lo >= bStop) && (b.settled() || b.last().lo >= aStop)
}

// key is one thing that is held, and what is known of its past.
type key struct {
	name  string
	spans []*span // in the order of their begins
	past  past
}

// past is what is left of folded spans.
type past struct {
	any    bool
	holder string        // who was certainly the last to hold
	last   time.Duration // and until when
	top    int64         // the highest token
	until  time.Duration // a begin before this might meet one of them
}

func (k *key) insert(p *span) {
	at, _ := slices.BinarySearchFunc(k.spans, p, func(a, b *span) int {
		if a.begin.lo+a.begin.hi <= b.begin.lo+b.begin.hi {
			return -1 // of equal ones, in the order of arrival
		}
		return 1
	})
	k.spans = slices.Insert(k.spans, at, p)
}

// came returns how the key came to its span i: who held it last before, for how long nobody
// certainly did, and whether the token fell. The first span of all has no move.
func (k *key) came(i int) (m Move, moved, falls bool) {
	p, before := k.spans[i], k.past
	for _, q := range k.spans[:i] {
		if last := q.last().lo; !before.any || last >= before.last {
			before.any, before.holder, before.last = true, q.from.name, last
		}
		falls = falls || q.token >= p.token
	}
	falls = falls || k.past.any && k.past.top >= p.token
	m = Move{Key: k.name, From: before.holder, To: p.from.name, Token: p.token, Reason: p.reason,
		At: p.begin.hi, Gap: max(0, p.begin.hi-before.last)}
	return m, before.any, falls
}

// fold removes the oldest settled span from a list that is longer than keep, and adds what is known
// of it to t. How the key came to the spans before it is final then, so they are counted too.
func (k *key) fold(keep int, t *tally) {
	if len(k.spans) <= keep {
		return
	}
	i := slices.IndexFunc(k.spans, (*span).settled)
	if i < 0 {
		return
	}
	for j := range k.spans[:i+1] {
		if !k.spans[j].counted {
			k.spans[j].counted = true
			t.arrival(k, j)
		}
	}
	p := k.spans[i]
	for j := range k.spans {
		if j != i {
			t.meeting(k, k.spans[min(i, j)], k.spans[max(i, j)])
		}
	}
	_, stop := p.open()
	last := p.last().lo
	if !k.past.any {
		k.past = past{any: true, last: last, top: p.token}
	}
	if last >= k.past.last {
		k.past.holder, k.past.last = p.from.name, last
	}
	k.past.top = max(k.past.top, p.token)
	k.past.until = max(k.past.until, stop)
	k.spans = slices.Delete(k.spans, i, i+1)
}

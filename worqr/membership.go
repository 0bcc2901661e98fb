package worqr

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/events"
)

// membership is one opening of a queue by one incarnation of the worker, and the processes that it holds there.
// It ends when it is closed, fenced, or when its life ends; the queue is then opened again under a new id.
type membership struct {
	life    *life
	station *station
	id      string // never used again
	ctx     context.Context
	end     context.CancelCauseFunc

	// turn holds one token. Who has it is the only one to take, or to compare what is in hand.
	turn    chan struct{}
	next    int64       // the first number of the next take
	stray   bool        // Redis may list what nobody here knows: a put-back or a take was not answered
	more    bool        // the last take left tasks behind
	pending int         // how many numbers a take asked for that was never answered: it is repeated as it was
	closing atomic.Bool // no further take

	mu      sync.Mutex
	inHand  map[int64]*Process
	seen    int64          // newest cancel mark that was applied
	taking  bool           // a take is under way:
	hints   []events.Event // cancels heard meanwhile, for what it brings
	running int            // handlers that have not returned
	quiet   chan struct{}  // closed when the last of them has

	outbox  *outbox
	poke    chan struct{} // tasks may wait: take
	woken   chan struct{} // a wake-up that was meant for this membership: take, or pass it on
	unnoted atomic.Bool   // a take did not note it as idle, as no wake-up would have arrived

	unhint       func()
	stopTaking   context.CancelFunc // nil without a handler
	stopSettling context.CancelFunc // the settler ends when its outbox is empty
	takers       sync.WaitGroup     // dispatcher
	settlers     sync.WaitGroup     // settler
	sent         chan struct{}      // closed when the settler has ended
	quitted      bool               // quit was called; guarded by station.opening
}

func newMembership(l *life, st *station, id string) *membership {
	m := &membership{
		life: l, station: st, id: id, next: 1,
		turn: make(chan struct{}, 1), inHand: map[int64]*Process{}, outbox: newOutbox(),
		poke: make(chan struct{}, 1), woken: make(chan struct{}, 1), sent: make(chan struct{}),
	}
	m.turn <- struct{}{}
	m.ctx, m.end = context.WithCancelCause(l.ctx)
	return m
}

// have waits for the turn.
func (m *membership) have(ctx context.Context) error {
	select {
	case <-m.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.ctx.Done():
		return context.Cause(m.ctx)
	}
}

func (m *membership) release() { m.turn <- struct{}{} }

// take brings up to count tasks from the front of the queue. With park, a queue that runs empty notes this membership
// as idle. The caller has the turn.
//
// Numbers whose take was not answered are asked for again, as many as before: whatever copy ran, they answer the same.
func (m *membership) take(ctx context.Context, count int, park bool) ([]*Process, error) {
	for {
		repeat := m.pending > 0
		if repeat {
			count = m.pending
		}
		m.mu.Lock()
		m.taking = true
		m.mu.Unlock()
		answer, err := redis.Values(m.life.w.mesh.queue(ctx, takeScript, m.station.name, m.id, m.next, count, flag(park)))
		processes, help, err := m.answered(answer, err)
		switch {
		case errors.Is(err, ErrFenced):
			m.fenced()
			return nil, err
		case errors.Is(err, ErrUnknown):
			m.pending, m.stray = count, true
			m.life.lookSoon(m)
			return nil, err
		case err != nil:
			return nil, err
		case help:
			continue
		}
		m.next += int64(count)
		m.pending = 0
		if repeat && len(processes) == 0 {
			continue // the numbers are used up, and what they held was put back
		}
		if err := context.Cause(m.ctx); err != nil {
			m.giveBack(processes)
			return nil, err
		}
		return processes, nil
	}
}

// fenced ends a membership that was taken out of the queue. If that was because time is up, the lapse is the cause, also
// when no timer has said so yet.
func (m *membership) fenced() {
	if !m.life.lease.Valid() {
		m.life.lapse(nil)
	}
	m.end(ErrFenced)
	m.life.w.change()
}

// answered enters what a take brought into the books, and applies the cancels that were heard meanwhile.
func (m *membership) answered(answer []any, err error) (processes []*Process, help bool, _ error) {
	var newest int64
	var state string
	if err == nil {
		answer, err = redis.Scan(answer, &newest, &state)
	}
	for row := range slices.Chunk(answer, 3) {
		p := &Process{of: m, taken: time.Now(), settled: make(chan struct{}), refusal: make(chan error, 1)}
		if _, err = redis.Scan(row, &p.number, &p.token, &p.task); err != nil {
			break
		}
		if p.task == nil {
			p.task = []byte{}
		}
		processes = append(processes, p)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	hints := m.hints
	m.taking, m.hints = false, nil
	if err != nil {
		return nil, false, err
	}
	for _, p := range processes {
		p.ctx, p.end = context.WithCancelCause(m.ctx)
		m.seen = min(m.seen, p.token) // of a take that is repeated: a look may have passed over marks that concern it
		m.inHand[p.number] = p
		for _, e := range hints {
			p.cancelledBy(e.Task, e.Token)
		}
	}
	if newest > m.seen {
		m.life.lookSoon(m)
	}
	m.more = state == "MORE"
	return processes, state == "HELP", nil
}

// giveBack returns what a take brought and nobody here is to work on. The caller has the turn.
func (m *membership) giveBack(processes []*Process) {
	var mine []*Process
	m.mu.Lock()
	for _, p := range processes {
		if first, _ := p.claim(returned); first { // else the settler, or who closes, concludes it
			delete(m.inHand, p.number)
			mine = append(mine, p)
		}
	}
	m.mu.Unlock()
	ctx, cancel := fresh(time.Second)
	defer cancel()
	if err := m.putFront(ctx, mine); err != nil {
		m.stray = true
		m.life.w.hooks.error(err)
	}
	for _, p := range mine {
		p.conclude(done, nil)
	}
}

// putFront settles processes as if they had never been taken: the first of them is at the front.
func (m *membership) putFront(ctx context.Context, processes []*Process) error {
	for chunk := range slices.Chunk(processes, chunkTasks) {
		args := []any{m.id}
		for _, p := range slices.Backward(chunk) { // the last named is taken first
			args = append(args, p.number, p.token, string(front))
		}
		if _, err := m.life.w.mesh.queue(ctx, settleScript, m.station.name, args...); err != nil {
			return failed(err, "put back processes of queue %q", m.station.name)
		}
	}
	return nil
}

// hint is told of a cancel. It runs on the reader of the notifications.
func (m *membership) hint(e events.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.inHand {
		p.cancelledBy(e.Task, e.Token)
	}
	if m.taking {
		m.hints = append(m.hints, e)
	}
}

// look asks Redis what this membership has missed: that it was fenced, cancels, takes whose answer was lost, tasks that
// wait. It answers how many wait.
func (m *membership) look(ctx context.Context) (waiting int, err error) {
	if err := m.have(ctx); err != nil {
		return 0, err
	}
	defer m.release()
	m.mu.Lock()
	before := len(m.inHand) // it only shrinks now: no take is under way
	m.mu.Unlock()
	held := 0
	for more := true; more; {
		m.mu.Lock()
		since := m.seen
		m.mu.Unlock()
		answer, err := redis.Values(m.life.w.mesh.queue(ctx, lookScript, m.station.name, m.id, since))
		if errors.Is(err, ErrFenced) {
			m.fenced()
		}
		var newest int64
		if err == nil {
			answer, err = redis.Scan(answer, &held, &waiting, &newest)
		}
		if err != nil {
			return 0, failed(err, "look at queue %q", m.station.name)
		}
		if more, err = m.marked(answer, newest); err != nil {
			return 0, failed(err, "look at queue %q", m.station.name)
		}
	}
	return waiting, m.compare(ctx, before, held)
}

// marked applies cancel marks, the oldest first. A full page leaves more to ask for.
func (m *membership) marked(rows []any, newest int64) (more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var last int64
	marks := map[string]int64{}
	for row := range slices.Chunk(rows, 2) {
		var fingerprint string
		if _, err := redis.Scan(row, &fingerprint, &last); err != nil {
			return false, err
		}
		marks[fingerprint] = last
	}
	for _, p := range m.inHand {
		if p.token <= last && p.token <= marks[p.fingerprint()] {
			p.end(ErrCanceled)
		}
	}
	if more = len(rows) == 2*chunkTasks; !more {
		last = newest
	}
	m.seen = max(m.seen, last)
	return more, nil
}

// compare mends a difference between what Redis lists and what this worker knows: what it does not know it puts back
// (the answer of a take was lost, or an old copy of one came late), what Redis does not list has ended. The caller has
// the turn, so no take is under way; what was in hand before and is being settled may be listed or not.
func (m *membership) compare(ctx context.Context, before, held int) error {
	m.mu.Lock()
	unsettled := 0
	mine := map[int64]bool{}
	for number, p := range m.inHand {
		mine[number] = true
		if p.asked() == "" {
			unsettled++
		}
	}
	m.mu.Unlock()
	if !m.stray && held <= before && held >= unsettled {
		return nil
	}
	listed, err := m.life.w.mesh.held(ctx, m.station.name, m.id, "")
	if err != nil {
		return failed(err, "compare the processes of queue %q", m.station.name)
	}
	var unknown, missing []*Process
	there := map[int64]bool{}
	m.mu.Lock()
	for _, info := range listed {
		number, err := strconv.ParseInt(info.ID[len(m.id)+1:], 10, 64)
		if err != nil {
			continue // not one of ours: nobody made such an id
		}
		there[number] = true
		if !mine[number] {
			unknown = append(unknown, &Process{number: number, token: info.Token})
		}
	}
	for number, p := range m.inHand {
		if there[number] {
			continue
		}
		if first, _ := p.claim(gone); first { // else the settler learns what became of it
			delete(m.inHand, number)
			missing = append(missing, p)
		}
	}
	m.mu.Unlock()
	for _, p := range missing {
		p.end(ErrGone)
		p.conclude(gone, nil)
	}
	if len(unknown) > 0 {
		// A copy of the put-back may run late, so what a take without an answer asked for is never asked for again.
		m.next += int64(m.pending)
		m.pending = 0
		m.life.w.log.Warn().Str("queue", m.station.name).Int("processes", len(unknown)).Msg("worqr: put back processes whose take was not answered")
	}
	err = m.putFront(ctx, unknown)
	m.stray = err != nil
	return err
}

// processes lists what is in hand, the oldest first.
func (m *membership) processes() []*Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*Process, 0, len(m.inHand))
	for _, p := range m.inHand {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Process) int { return int(a.number - b.number) })
	return list
}

func (m *membership) process(number int64) *Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inHand[number]
}

// began counts a handler, and over the end of one.
func (m *membership) began() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == 0 {
		m.quiet = make(chan struct{})
	}
	m.running++
}

func (m *membership) over() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running--; m.running == 0 {
		close(m.quiet)
	}
}

// idle waits until no handler runs, as long as ctx lasts.
func (m *membership) idle(ctx context.Context) bool {
	m.mu.Lock()
	running, quiet := m.running, m.quiet
	m.mu.Unlock()
	if running == 0 {
		return true
	}
	select {
	case <-quiet:
		return true
	case <-m.ctx.Done():
		return true // what they do is no longer ours to wait for
	case <-ctx.Done():
		return false
	}
}

// ended tells whether nothing can be taken or settled any more.
func (m *membership) ended() bool { return m.ctx.Err() != nil }

// signal raises a flag: a level, not an edge.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

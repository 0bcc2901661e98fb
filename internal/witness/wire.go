package witness

import "time"

// message is all that either side sends, as one gob stream in each direction. What it does not need
// stays zero, and costs nothing. Gob because keys are any bytes.
type message struct {
	Op  op
	Seq uint64        // rises by one with every statement of a teller
	At  time.Duration // the sender's clock

	Holder string        // hello
	Clock  string        // hello: which clock At is read from; none when only this process reads it
	Every  time.Duration // welcome

	ID      uint64 // begin, end: the hold, numbered by its teller from 1
	Key     string // begin
	Token   int64  // begin
	Reason  string // begin
	Held    bool   // end: valid still said yes at At
	UpTo    uint64 // still: every hold up to this one was asked after At
	Refused []uint64
	Asked   time.Duration // still: the clock after those that refused were asked

	N      uint64 // ping, pong, mark, marked
	Report *Report
}

type op uint8

const (
	hello   op = iota + 1 // holder: who I am
	ping                  // witness: read your clock
	pong                  // holder: here it is
	welcome               // witness: tell me every so often
	begin
	still
	end
	mark    // holder: say when you have got here
	marked  // witness: here
	bye     // holder: nothing follows
	inquire // anyone: the report, please
	answer
)

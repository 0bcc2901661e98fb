package witness

import "time"

// message is all that either side sends, as one gob stream in each direction. Fields that a message
// does not need stay zero and cost nothing. The format is gob because keys are any bytes.
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
	Held    bool   // end: valid was still true at At
	UpTo    uint64 // still: valid was called for every hold up to this one, after At
	Refused []uint64
	Asked   time.Duration // still: the clock after valid was called for those that refused

	N      uint64 // ping, pong, mark, marked
	Report *Report
}

type op uint8

const (
	hello   op = iota + 1 // holder: who I am
	ping                  // witness: read your clock
	pong                  // holder: here it is
	welcome               // witness: send a tick this often
	begin
	still
	end
	mark    // holder: reply when this is reached
	marked  // witness: here
	bye     // holder: nothing follows
	inquire // anyone: the report, please
	answer
)

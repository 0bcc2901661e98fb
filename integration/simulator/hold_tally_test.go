package simulator

// expectedOfHolds are what a few thousand schedules with persistent tasks must have brought about.
var expectedOfHolds = []string{
	"offer offered", "offer taken", "offer ready", "ready OK", "ready gone", "checkpoint kept", "checkpoint gone",
	"rescue OK", "rescue ALIVE", "rescue STRICT", "rescue GONE", "watch as watcher", "watch as deputy",
	"SUPERSEDED add", "SUPERSEDED drop", "FENCED hold_take", "FENCED hold_settle", "FENCED hold_look", "FENCED offer",
	"FENCED checkpoint", "FENCED allow", "FENCED weigh", "repeated hold_take", "hold_take with less than asked",
	"hold_settle gone", "hold_settle dropped", "locate held", "locate ending", "locate waiting",
}

// tellHold is tell for persistent tasks.
func (w *world) tellHold(c *command, r reply, count func(string, bool)) {
	switch c.script {
	case "offer", "ready", "rescue", "checkpoint":
		count(c.script+" "+r.words[0], true)
	case "hold_take":
		count("repeated hold_take", w.state.queues[c.queue].members[c.args[0]] >= integer(c.args[1]))
		count("hold_take with less than asked", r.words[1] == "MORE")
	case "hold_settle":
		for _, word := range outcomes(r) {
			count("hold_settle "+word, true)
		}
	case "watch":
		count("watch as "+r.words[1], true)
	case "locate":
		if len(r.words) > 0 {
			count("locate "+r.words[0], true)
		}
	}
}

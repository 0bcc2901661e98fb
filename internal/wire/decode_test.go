package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// A decoder reads replies. It says how many rows it has read, for those that have any.
type decoder struct {
	script string // or the command: its errors name it
	reply  string // a good one, see replyOf
	longer bool   // a reply that is one element shorter, or longer, is good too
	read   func(any) (rows int, err error)
}

// plain is a decoder of an answer without rows.
func plain[T any](decode func(any) (T, error)) func(any) (int, error) {
	return func(reply any) (int, error) { _, err := decode(reply); return 0, err }
}

// rowed is a decoder of an answer with rows.
func rowed[T any](decode func(any) (T, error), rows func(T) int) func(any) (int, error) {
	return func(reply any) (int, error) { answer, err := decode(reply); return rows(answer), err }
}

var decoders = map[string]decoder{
	"decodeFail":       {"fail", ":1", false, plain(decodeFail)},
	"decodeAppear":     {"appear", ":1", false, plain(decodeAppear)},
	"decodeCheck":      {"check", "$", false, plain(decodeCheck)},
	"decodeInfo":       {"INFO", `$maxmemory:0\r\n`, false, plain(decodeInfo)},
	"decodeNotes":      {"HGET", "$7", false, plain(decodeNotes)},
	"decodeLapsed":     {"HGET", "$1790000000000000", false, plain(decodeLapsed)},
	"decodeTime":       {"TIME", "*2 $1790000000 $5", false, plain(decodeTime)},
	"decodeExists":     {"EXISTS", ":2", false, plain(decodeExists)},
	"decodeLen":        {"LLEN", ":2", false, plain(decodeLen)},
	"decodeBeat":       {"beat", "*4 $1790000000000000 $1 $1 $2", false, plain(decodeBeat)},
	"decodeNewest":     {"newest", "$1790000000000000", false, plain(decodeNewest)},
	"decodeOpen":       {"open", "$0", false, plain(decodeOpen)},
	"decodeReclaim":    {"reclaim", "*4 $8 $1 $1 $1", false, plain(decodeReclaim)},
	"decodeRescue":     {"rescue", "$ALIVE", false, plain(decodeRescue)},
	"decodeDelete":     {"delete", "*2 $3 $1790000000000000", false, plain(decodeDelete)},
	"decodeTrim":       {"trim", "*2 $0 $1", false, plain(decodeTrim)},
	"DecodeEnqueue":    {"enqueue", "*2 $3 $0", false, plain(DecodeEnqueue)},
	"decodeAdd":        {"add", "*3 $3 $0 $2", false, plain(decodeAdd)},
	"decodeGeneration": {"generation", "$1790000000000000", false, plain(decodeGeneration)},
	"decodeDrop":       {"drop", ":2", false, plain(decodeDrop)},
	"decodeLocate":     {"locate", "*5 $held $w1.1.1 $1790000000000000 $0 $0", false, plain(decodeLocate)},
	"decodeOffer":      {"offer", "$taken", false, plain(decodeOffer)},
	"decodeReady":      {"ready", "$OK", false, plain(decodeReady)},
	"decodeAdmit":      {"admit", "$1000", false, plain(decodeAdmit)},

	"decodeSettle":  {"settle", "$done_gone", false, rowed(decodeSettle, Outcomes.Len)},
	"decodeKeep":    {"checkpoint", "$kept_gone", false, rowed(decodeKeep, func(kept int) int { return kept })},
	"decodeSweep":   {"sweep", "*10 $1790000000000000 $run $1 $0 :3 $q $7 $w1 $0 $1", false, rowed(decodeSweep, func(s Swept) int { return len(s.Absent) })},
	"decodeRoster":  {"roster", "*4 $0 $w1 :900 *4 $host $h $label:a $b", false, rowed(decodeRoster, func(r Roster) int { return len(r.Workers) })},
	"decodeWatch":   {"watch", "*6 $2 $watcher $400 $w1 :1 $0", false, rowed(decodeWatch, func(w Watched) int { return len(w.Rows) })},
	"decodeScan":    {"SSCAN", "*2 $0 *2 $a $b", false, rowed(decodeScan, func(s scanned) int { return len(s.members) })},
	"decodeTasks":   {"LRANGE", "*2 $a $b", true, rowed(decodeTasks, func(tasks [][]byte) int { return len(tasks) })},
	"decodePresent": {"present", "*3 $0 $a $b", true, rowed(decodePresent, func(p Page) int { return len(p.Tasks) })},
	"decodeLook":    {"look", "*5 $1 $2 $9 $f $9", false, rowed(decodeLook, func(l Looked) int { return len(l.Marks) })},
	"decodeCancel":  {"cancel", "*5 $1 $9 $1 $w1.1.1 $8", false, rowed(decodeCancel, func(c Canceled) int { return len(c.Copies) })},
	"decodeAudit":   {"audit", "*7 $0 $1 $2 $0 $w1.1 $member $4", false, rowed(decodeAudit, func(a Audit) int { return len(a.Members) })},
	"decodeHeld":    {"held", "*4 $ $w1.1.1 $8 $task", false, rowed(decodeHeld, func(h Held) int { return len(h.Rows) })},
	"decodeTake": {"take", "*6 $0 $MORE $1_8_2_7_90_1 $a $b $c", false,
		rowed(func(reply any) (Taken, error) { return decodeTake(reply, false) }, taken)},
	"decodeHoldTake": {"hold_take", `*8 $0 $OK $1_8_2 $-1 $a $death_7\ndata $b $`, false, rowed(decodeHoldTake, taken)},
	"decodeHoldLook": {"hold_look", "*6 $1 $2 $9 *7 $1790000000000000 $0 $w1.1 $10 $0 $1790000000000000 $1 $f $9", false,
		rowed(decodeHoldLook, func(l Looked) int {
			if l.Round == nil {
				return len(l.Marks)
			}
			return len(l.Marks) + len(l.Round.Members)
		})},
	"decodeServed": {"served", "*2 :1 :0", false,
		rowed(func(reply any) ([]bool, error) { return decodeServed(reply, 2) }, func(list []bool) int { return len(list) })},
}

func taken(t Taken) int { return max(len(t.Rows), len(t.Pasts)) }

// replyOf makes a reply of words: *3 begins a list of 3, :3 is the number of Redis, $3 a text,
// where _ is a space and \n, \r are what they are, +OK a status, -ERR a refusal, and anything else
// nil.
func replyOf(text string) any {
	words := strings.Split(text, " ")
	return nextReply(&words, 0)
}

func nextReply(words *[]string, depth int) any {
	if len(*words) == 0 {
		return nil
	}
	word := (*words)[0]
	*words = (*words)[1:]
	if word == "" {
		return nil
	}
	body := strings.NewReplacer("_", " ", `\n`, "\n", `\r`, "\r").Replace(word[1:])
	n, number := integerIn(body)
	switch word[0] {
	case '$':
		return []byte(body)
	case '+':
		return body
	case '-':
		return redis.Error(body)
	case ':':
		return n
	case '*':
		list := []any{}
		for number && int64(len(list)) < n && len(*words) > 0 && depth < 4 {
			list = append(list, nextReply(words, depth+1))
		}
		return list
	}
	return nil
}

// elements is how many there are in a reply, those of its lists too, and the words of a text.
func elements(reply any) int {
	switch reply := reply.(type) {
	case []any:
		n := 1
		for _, e := range reply {
			n += elements(e)
		}
		return n
	case []byte:
		return 1 + strings.Count(string(reply), " ") + len(strings.Fields(string(reply)))
	case string:
		return 1 + strings.Count(reply, " ") + len(strings.Fields(reply))
	}
	return 1
}

func TestEveryDecoderReadsWhatItsScriptReturns(t *testing.T) {
	t.Parallel()
	for name, d := range decoders {
		if _, err := d.read(replyOf(d.reply)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is missing, too much or of another kind is an error that names the script.
func TestEveryDecoderRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	refused := func(name string, reply any) {
		t.Helper()
		d := decoders[name]
		if _, err := d.read(reply); err == nil {
			t.Errorf("%s reads %v", name, reply)
		} else if !strings.HasPrefix(err.Error(), "the answer of "+d.script+" cannot be read: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, d := range decoders {
		refused(name, nil)
		refused(name, redis.Error("ERR"))
		list, is := replyOf(d.reply).([]any)
		if !is {
			refused(name, []any{})
			continue
		}
		if !d.longer {
			refused(name, list[:len(list)-1])
			refused(name, append(slices.Clone(list), []byte("more")))
		}
		for i := range list {
			broken := slices.Clone(list)
			broken[i] = nil
			refused(name, broken)
		}
	}
}

func TestNoDecoderIsLeftOut(t *testing.T) {
	t.Parallel()
	general := []string{"decoded", "decodeText", "decodeInteger", "decodeCount", "decodeDatabase"} // the last never fails
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(strings.ToLower(f.Name.Name), "decode") && !slices.Contains(general, f.Name.Name) {
				found[f.Name.Name] = true
			}
		}
	}
	for name := range found {
		if _, ok := decoders[name]; !ok {
			t.Errorf("%s is not tried", name)
		}
	}
	if len(found) != len(decoders) {
		t.Errorf("%d decoders are found, %d are tried", len(found), len(decoders))
	}
}

// No reply makes a decoder panic, or gives it more rows than the reply has elements. What it cannot
// read it refuses by the name of the script.
func FuzzDecode(f *testing.F) {
	for _, name := range slices.Sorted(maps.Keys(decoders)) {
		f.Add(decoders[name].reply)
	}
	for _, reply := range []string{
		"", "*0", "*-1", "-ERR", "+OK", "*3 $0 $HELP $", "*5 $0 $OK $1_8_1 $done $a", "*3 $0 $OK $1_8_9223372036854775807",
		"*4 $0 $OK $9223372036854775807_9223372036854775807_1 $a", "*4 $0 $OK $1_8_-1_2_9_0 $a", "*4 $0 $OK $1_8 $a",
		"*6 $0 $OK $1_8_1 $5 $a $why", "*5 $1 $2 $9 *2 $1 $1 $f", "*4 $0 $w1 :-2 *3 $host $h $pid", "*4 $0 $w1 :-2 *2 $pid $x",
	} {
		f.Add(reply)
	}
	f.Fuzz(func(t *testing.T, text string) {
		reply := replyOf(text)
		most := elements(reply)
		for name, d := range decoders {
			rows, err := d.read(reply)
			if rows > most {
				t.Errorf("%s has read %d rows of %d elements", name, rows, most)
			}
			if err != nil && !strings.Contains(err.Error(), " "+d.script+" ") {
				t.Errorf("%s: %v does not name %s", name, err, d.script)
			}
		}
		if taken, err := decodeTake(reply, true); err == nil && len(taken.Rows) > most {
			t.Errorf("take has read %d rows of %d elements", len(taken.Rows), most)
		}
		decodeDatabase(reply)
		RunID(reply)
	})
}

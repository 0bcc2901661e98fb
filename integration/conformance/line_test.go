package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// line is one line of a check: words to call, and the reply that must come.
type line struct {
	number int
	text   string
	until  bool // the call is made again until this is the reply
	call   []word
	want   []word
}

// word is one word of a line as it is written.
type word struct {
	text   string
	quoted bool
}

var wordForm = regexp.MustCompile(`^(?:'([^']*)'|([\[\]])|([^\s'\[\]]+))\s*`)

// parse reads a line.
func parse(number int, text string) (line, error) {
	l := line{number: number, text: text}
	call, want, found := strings.Cut(text, " -> ")
	var err error
	if l.call, err = words(call); err != nil || len(l.call) == 0 {
		return l, fmt.Errorf("line %d: %q is no call: %v", number, text, err)
	}
	if l.want, err = words(want); err != nil || found && len(l.want) == 0 {
		return l, fmt.Errorf("line %d: %q has no answer: %v", number, text, err)
	}
	if l.call[0].text == "until" {
		l.until, l.call = true, l.call[1:]
	}
	return l, nil
}

func words(text string) (list []word, err error) {
	for text = strings.TrimSpace(text); text != ""; {
		m := wordForm.FindStringSubmatch(text)
		switch {
		case m == nil:
			return nil, fmt.Errorf("%q cannot be read", text)
		case m[0][0] == '\'':
			list = append(list, word{strings.ReplaceAll(m[1], `\n`, "\n"), true})
		default:
			list = append(list, word{m[2] + m[3], false})
		}
		text = text[len(m[0]):]
	}
	return list, nil
}

// names holds what a check has learned so far: the value of each $name.
type names map[string]string

var nameForm = regexp.MustCompile(`\$([a-z]+)(?:\+([0-9]+))?`)

// fill replaces the names that are known. A name that is not known stays.
func (n names) fill(text string) string {
	return nameForm.ReplaceAllStringFunc(text, func(ref string) string {
		m := nameForm.FindStringSubmatch(ref)
		value, known := n[m[1]]
		if !known || m[2] == "" {
			return map[bool]string{true: value, false: ref}[known]
		}
		number, _ := strconv.ParseInt(value, 10, 64)
		more, _ := strconv.ParseInt(m[2], 10, 64)
		return strconv.FormatInt(number+more, 10)
	})
}

// compare compares a reply with the words that must come, and learns the values that they name.
func (n names) compare(want []word, reply any, failure error) error {
	if refusal, ok := failure.(redis.Error); ok {
		code, _, _ := strings.Cut(refusal.Error(), " ")
		if len(want) == 2 && want[0] == (word{"error", false}) && want[1].text == code {
			return nil
		}
	}
	if failure != nil {
		return failure
	}
	rest, err := n.match(want, reply)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("one answer more is expected: %v", rest)
	}
	return err
}

// match matches words with the reply, and returns the rest of the words.
func (n names) match(want []word, reply any) ([]word, error) {
	if len(want) == 0 {
		return nil, fmt.Errorf("also %s", shown(reply))
	}
	first, rest := want[0], want[1:]
	if first == (word{"*", false}) {
		return rest, nil
	}
	list, isList := reply.([]any)
	if first == (word{"[", false}) {
		if !isList {
			return nil, fmt.Errorf("%s is no list", shown(reply))
		}
		var err error
		for i, one := range list {
			if rest[0] == (word{"**", false}) {
				break
			}
			if rest[0] == (word{"]", false}) {
				return nil, fmt.Errorf("in the list also %s", shown(list[i:]))
			}
			if rest, err = n.match(rest, one); err != nil {
				return nil, err
			}
		}
		if rest[0] == (word{"**", false}) {
			rest = rest[1:]
		}
		if rest[0] != (word{"]", false}) {
			return nil, fmt.Errorf("the list ends before %v", rest)
		}
		return rest[1:], nil
	}
	if isList {
		return nil, fmt.Errorf("%s is a list", shown(reply))
	}
	return rest, n.matchText(n.fill(first.text), shown(reply))
}

// matchText compares a text and learns names that are not known yet.
func (n names) matchText(want, have string) error {
	var learned []string
	form := "(?s)^"
	for at := 0; ; {
		where := nameForm.FindStringSubmatchIndex(want[at:])
		if where == nil {
			form += regexp.QuoteMeta(want[at:]) + "$"
			break
		}
		form += regexp.QuoteMeta(want[at:at+where[0]]) + `([^ \n]+)`
		learned = append(learned, want[at+where[2]:at+where[3]])
		at += where[1]
	}
	m := regexp.MustCompile(form).FindStringSubmatch(have)
	if m == nil {
		return fmt.Errorf("%q, want %q", have, want)
	}
	for i, name := range learned {
		n[name] = m[i+1]
	}
	return nil
}

// shown formats a reply: a number and a text are the same.
func shown(reply any) string {
	switch reply := reply.(type) {
	case nil:
		return "nil"
	case []byte:
		return string(reply)
	case []any:
		var all []string
		for _, one := range reply {
			all = append(all, strconv.Quote(shown(one)))
		}
		return "[" + strings.Join(all, " ") + "]"
	}
	return fmt.Sprint(reply)
}

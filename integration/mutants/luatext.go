package main

import "regexp"

// A word is a word, a number, a string or a sign of a script.
type word struct {
	text    string
	at, end int
	first   bool // of its line
	pair    int  // of a bracket, `function`, `if`, `do`: the index of its other end
}

var luaToken = regexp.MustCompile(`^(?:--[^\n]*|[A-Za-z_]\w*|\d+(?:\.\d+)?(?:e\d+)?|'(?:\\.|[^'\\])*'|\.\.\.|\.\.|[=~<>]=|\s+|.)`)

// luaText is a script cut into tokens. It knows as much of the grammar as the scripts use.
type luaText []word

func readLua(text string) luaText {
	var list luaText
	var open []int
	first := true
	for at := 0; at < len(text); {
		sign := luaToken.FindString(text[at:])
		t := word{text: sign, at: at, end: at + len(sign), first: first, pair: -1}
		at = t.end
		switch c := sign[0]; {
		case c == '\n' || c == ' ' || c == '\t' || c == '\r':
			for _, r := range sign {
				first = first || r == '\n'
			}
			continue
		case len(sign) > 1 && sign[:2] == "--":
			continue
		}
		first = false
		switch sign {
		case "(", "[", "{", "function", "if", "do":
			open = append(open, len(list))
		case ")", "]", "}", "end":
			if len(open) > 0 {
				t.pair = open[len(open)-1]
				list[t.pair].pair = len(list)
				open = open[:len(open)-1]
			}
		}
		list = append(list, t)
	}
	return list
}

// is reports whether the token at i is one of these.
func (l luaText) is(i int, words ...string) bool {
	if i < 0 || i >= len(l) {
		return false
	}
	for _, w := range words {
		if l[i].text == w {
			return true
		}
	}
	return false
}

// name reports whether the token at i is a name.
func (l luaText) name(i int) bool {
	return i >= 0 && i < len(l) && (l[i].text[0] == '_' || l[i].text[0] >= 'A' && l[i].text[0] <= 'z' && l[i].text[0] != '[' && l[i].text[0] != ']') &&
		!l.is(i, "and", "or", "not", "if", "then", "else", "elseif", "end", "do", "while", "for", "in", "local", "return", "function", "break",
			"nil", "true", "false")
}

// begins reports whether a statement may begin at i.
func (l luaText) begins(i int) bool {
	if i == 0 || l.is(i-1, "then", "do", "else", "end", ";") {
		return true
	}
	if l.is(i-1, ")") && l[i-1].pair >= 1 && (l.is(l[i-1].pair-1, "function") || l.is(l[i-1].pair-2, "function")) {
		return true // the body of a function
	}
	return l[i].first && !l.is(i-1, "(", "[", "{", ",", "=", "and", "or", "not", "return", "local", "in", "..", "+", "-", "*", "/",
		"==", "~=", "<", ">", "<=", ">=")
}

// suffixes returns where what follows a name or a bracket ends: fields, indexes and calls.
func (l luaText) suffixes(i int) int {
	for {
		switch {
		case l.is(i, ".", ":"):
			i += 2
		case l.is(i, "[", "(") && !l[i].first:
			i = l[i].pair + 1
		default:
			return i
		}
	}
}

// operand returns where an operand ends that begins at i.
func (l luaText) operand(i int) int {
	for l.is(i, "not", "-", "#") {
		i++
	}
	switch {
	case l.is(i, "function", "{"):
		return l[i].pair + 1
	case l.is(i, "("):
		return l.suffixes(l[i].pair + 1)
	case l.name(i):
		return l.suffixes(i + 1)
	}
	return i + 1
}

// plain returns where an expression without `and` and `or` ends.
func (l luaText) plain(i int) int {
	for i = l.operand(i); l.is(i, "+", "-", "*", "/", "%", "^", "..", "==", "~=", "<", ">", "<=", ">="); {
		i = l.operand(i + 1)
	}
	return i
}

// span is the tokens from one on to before another.
type span struct{ from, to int }

// ands returns the operands that `and` joins from i on, and where they end.
func (l luaText) ands(i int) ([]span, int) {
	list := []span{{i, l.plain(i)}}
	for to := list[0].to; ; to = list[len(list)-1].to {
		if !l.is(to, "and") {
			return list, to
		}
		list = append(list, span{to + 1, l.plain(to + 1)})
	}
}

// ors returns the operands that `or` joins from i on, those that `and` joins within each, and where
// the expression ends.
func (l luaText) ors(i int) (outer []span, inner [][]span, end int) {
	for {
		list, to := l.ands(i)
		outer, inner = append(outer, span{i, to}), append(inner, list)
		if !l.is(to, "or") {
			return outer, inner, to
		}
		i = to + 1
	}
}

// expression returns where an expression ends.
func (l luaText) expression(i int) int {
	_, _, end := l.ors(i)
	return end
}

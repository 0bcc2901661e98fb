package main

import (
	"strconv"
	"strings"
)

// flips are comparisons that are off by the equal case, or the wrong way round.
var flips = map[string]string{"==": "~=", "~=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}

// swaps are words that have another end, and writes that become looks where their answer is used.
var swaps = map[string]string{
	"'LPUSH'": "'RPUSH'", "'RPUSH'": "'LPUSH'", "'RPOP'": "'LPOP'", "'LPOP'": "'RPOP'", "'LEFT'": "'RIGHT'", "'RIGHT'": "'LEFT'",
	"'ZRANGE'": "'ZREVRANGE'", "'ZREVRANGE'": "'ZRANGE'", "'ZPOPMIN'": "'ZPOPMAX'", "'ZPOPMAX'": "'ZPOPMIN'",
	"'SREM'": "'SISMEMBER'", "'SPOP'": "'SRANDMEMBER'", "'HDEL'": "'HEXISTS'", "'DEL'": "'EXISTS'",
}

var reads = "EXISTS GET HEXISTS HGET HGETALL HKEYS HLEN HMGET HSCAN LINDEX LLEN LRANGE PTTL SCARD SISMEMBER SMEMBERS SRANDMEMBER SSCAN " +
	"TIME TYPE ZCARD ZCOUNT ZRANGE ZRANGEBYSCORE ZREVRANGE ZSCORE"

// luaMutants returns the mistakes of a script.
func luaMutants(file, text string) []mutant {
	e := &edits{file: file, text: text}
	l := readLua(text)
	// cut leaves out the tokens from one on to before another.
	cut := func(kind string, from, to int, with string) { e.add(kind, l[from].at, l[to-1].end, with) }
	drop := func(list []span) {
		for i, s := range list {
			switch {
			case len(list) == 1:
			case i == 0:
				cut("check", s.from, list[1].from, "")
			default:
				cut("check", list[i-1].to, s.to, "")
			}
		}
	}
	for i, t := range l {
		if l.is(i-1, "(", "[", "{", ",", "=", "return", "if", "elseif", "while", "in") && !l.is(i, ")", "]", "}", "end") {
			outer, inner, _ := l.ors(i)
			drop(outer)
			for _, list := range inner {
				drop(list)
			}
		}
		switch {
		case l.is(i, "if", "elseif", "while"):
			to := l.expression(i + 1)
			cut("check", i+1, to, "false")
			if !l.is(to+1, "return") && t.text != "while" {
				cut("check", i+1, to, "true")
			}
		case flips[t.text] != "":
			cut("flip", i, i+1, flips[t.text])
		case t.text == "not":
			cut("flip", i, i+1, "")
		case t.text == "break":
			cut("step", i, i+1, "")
		case l.is(i, "min", "max") && l.is(i-2, "math"):
			cut("end", i, i+1, map[string]string{"min": "max", "max": "min"}[t.text])
		case t.text[0] >= '0' && t.text[0] <= '4' && len(t.text) == 1 && flips[l[i-1].text] == "" && !(l.is(i-1, "[") && l.is(i+1, "]")):
			n, _ := strconv.Atoi(t.text)
			cut("off", i, i+1, strconv.Itoa(n+1))
		case t.text[0] == '\'':
			spoil(l, i, cut)
		case l.name(i) && l.begins(i):
			statement(l, i, cut)
		}
	}
	return e.sorted()
}

// spoil spoils one of the words that commands are made of.
func spoil(l luaText, i int, cut func(kind string, from, to int, with string)) {
	switch text := l[i].text; {
	case text == "'NX'" || text == "'XX'":
		cut("check", i-1, i+1, "")
	case text == "'PX'":
		cut("write", i-1, l.expression(i+2), "")
	case text == "'('" && l.is(i+1, ".."):
		cut("flip", i, i+1, "''")
	case swaps[text] == "" || l.is(i-1, "(") && l.begins(i-4) && strings.Contains("'SREM' 'SPOP' 'HDEL' 'DEL'", text):
	case strings.Contains("'SREM' 'SPOP' 'HDEL' 'DEL'", text):
		cut("write", i, i+1, swaps[text])
	default:
		cut("end", i, i+1, swaps[text])
	}
}

// statement leaves out a call or an assignment.
func statement(l luaText, i int, cut func(kind string, from, to int, with string)) {
	to := l.suffixes(i + 1)
	if l.is(to-1, ")") {
		kind := "step"
		switch {
		case l.is(i, "wake", "announce", "rouse") || l.is(i+4, "'PUBLISH'"):
			kind = "wake"
		case l.is(i, "redis") && strings.Contains(" "+reads+" ", " "+strings.Trim(l[i+4].text, "'")+" "):
			kind = "type" // it is there for its refusal of a key of another type
		case l.is(i, "redis"):
			kind = "write"
		}
		cut(kind, i, to, "")
		return
	}
	for l.is(to, ",") && l.name(to+1) {
		to = l.suffixes(to + 2)
	}
	if !l.is(to, "=") {
		return
	}
	for to = l.expression(to + 1); l.is(to, ","); {
		to = l.expression(to + 1)
	}
	cut("step", i, to, "")
}

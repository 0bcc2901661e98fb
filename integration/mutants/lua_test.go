package main

import (
	"slices"
	"strings"
	"testing"
)

func news(list []mutant) []string {
	var lines []string
	for _, m := range list {
		lines = append(lines, m.Kind+": "+m.New)
	}
	slices.Sort(lines)
	return lines
}

// Each kind of mistake is made, and nothing else.
func TestMistakesInAScript(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"if redis.call('EXISTS', k) == 1 then return {err = 'ALIVE'} end": {
			"check: if false then return {err = 'ALIVE'} end",
			"flip: if redis.call('EXISTS', k) ~= 1 then return {err = 'ALIVE'} end",
		},
		"if a or b and c > 5 then n = 7 end": {
			"check: if a or b then n = 7 end",
			"check: if a or c > 5 then n = 7 end",
			"check: if a then n = 7 end",
			"check: if b and c > 5 then n = 7 end",
			"check: if false then n = 7 end",
			"check: if true then n = 7 end",
			"flip: if a or b and c >= 5 then n = 7 end",
			"step: if a or b and c > 5 then end",
		},
		"redis.call('LMOVE', a, b, 'LEFT', 'RIGHT')": {
			"end: redis.call('LMOVE', a, b, 'LEFT', 'LEFT')",
			"end: redis.call('LMOVE', a, b, 'RIGHT', 'RIGHT')",
			"write: ",
		},
		"redis.call('RPUSH', list, task)":             {"end: redis.call('LPUSH', list, task)", "write: "},
		"redis.call('SREM', key, m) -- why":           {"write: -- why"},
		"local n = redis.call('SREM', key, m)":        {"write: local n = redis.call('SISMEMBER', key, m)"},
		"redis.call('PUBLISH', root .. ':mesh', 'x')": {"wake: "},
		"rouse()":                   {"wake: "},
		"redis.call('LLEN', tasks)": {"type: "},
		"local page = redis.call('ZRANGE', z, '(' .. x)": {"end: local page = redis.call('ZREVRANGE', z, '(' .. x)", "flip: local page = redis.call('ZRANGE', z, '' .. x)"},
		"redis.call('SET', k, v, 'PX', num(ms), 'NX')": {
			"check: redis.call('SET', k, v, 'PX', num(ms))", "write: ", "write: redis.call('SET', k, v, 'NX')",
		},
		"local first = math.max(last + 1, now())": {
			"end: local first = math.min(last + 1, now())", "off: local first = math.max(last + 2, now())",
		},
		"tidy()":          {"step: "},
		"out[3] = x":      {"step: "},
		"local a = not b": {"flip: local a = b"},
	} {
		if got := news(luaMutants("x.lua", line)); !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", line, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// What stands over several lines keeps the lines behind it where they are.
func TestAMistakeOverLines(t *testing.T) {
	t.Parallel()
	text := "local a = 7\nredis.call('PUBLISH', root,\n  'x')\nreturn a\n"
	list := luaMutants("x.lua", text)
	if len(list) != 1 || list[0].Name() != "x.lua:2 wake" || list[0].Old != "redis.call('PUBLISH', root, 'x')" {
		t.Fatalf("got %+v", list)
	}
	if got, want := list[0].apply(text), "local a = 7\n\n\nreturn a\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

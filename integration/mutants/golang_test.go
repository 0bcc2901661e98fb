package main

import (
	"slices"
	"strings"
	"testing"
)

func TestMistakesInGo(t *testing.T) {
	t.Parallel()
	text := "package p\n\nfunc f(a, b int) int {\n\tif a < b && a != 0 {\n\t\treturn 1\n\t}\n\tg(a)\n\ta = min(a, b-1)\n\treturn a\n}\n"
	list, err := goMutants("p.go", text)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"check: if a != 0 {",
		"check: if a < b {",
		"check: if false && (a < b && a != 0) {",
		"end: a = max(a, b-1)",
		"flip: if a < b && a == 0 {",
		"flip: if a <= b && a != 0 {",
		"off: a = min(a, b)",
		"step: if false { a = min(a, b-1) }",
		"step: if false { g(a) }",
	}
	if got := news(list); !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

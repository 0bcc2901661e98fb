package events

import (
	"strings"
	"testing"
)

func TestKindWords(t *testing.T) {
	t.Parallel()
	want := "kind(0) work cancel delete done joined left lapsed reclaimed kind(9)"
	var words []string
	for k := range Reclaimed + 2 {
		words = append(words, k.String())
	}
	if got := strings.Join(words, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

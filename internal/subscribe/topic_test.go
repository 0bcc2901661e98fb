package subscribe

import (
	"slices"
	"testing"

	"github.com/worqr/worqr-go/events"
)

// Every kind of this package has its word, and none of them is one that users see.
func TestKindWords(t *testing.T) {
	t.Parallel()
	var words []string
	for k := wake; k <= ready; k++ {
		words = append(words, word(k))
	}
	if want := []string{"wake", "give", "fail", "mesh", "ready"}; !slices.Equal(words, want) {
		t.Errorf("got  %q\nwant %q", words, want)
	}
	for k := range wake {
		if word(k) != k.String() || slices.Contains(words, word(k)) {
			t.Errorf("the word of kind %d is %q", k, word(k))
		}
	}
	if word(events.Done) != "done" {
		t.Errorf("the word of Done is %q", word(events.Done))
	}
}

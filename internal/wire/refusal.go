package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// passing are the refusals of the server that a later attempt may not meet, on the same connection.
var passing = map[string]bool{"BUSY": true, "TRYAGAIN": true, "CLUSTERDOWN": true}

// elsewhere are the refusals of a server that refuses whoever writes, and what they say about it.
// The same connection may be refused for ever, while another that is dialled now leads to a server
// that does not. Nothing was run.
var elsewhere = map[string]string{
	"READONLY":   "the server is a read-only replica: dial the primary",
	"UNBLOCKED":  "the server has become a replica: dial the primary",
	"MASTERDOWN": "the server is a replica that has lost its primary: dial the primary",
	"NOREPLICAS": "the server has fewer replicas than its min-replicas-to-write: bring them back, or dial the primary that has them",
	"LOADING":    "the server is reading its data, or is a replica that does: wait, or dial the primary",
	"MISCONF":    "the server cannot write to its disk: mend that, or dial another primary",
}

// Refusal is what the server refused with, as a script returned it in an answer.
func Refusal(text string) error {
	err, _ := Classify(redis.Error(text))
	return err
}

// Classify returns the error that a refusal of the server means, and whether err is such a refusal.
func Classify(err error) (_ error, refused bool) {
	refusal, refused := refusalIn(err)
	if !refused {
		return err, false
	}
	text, word := refusal.Error(), wordOf(refusal)
	if sentinel, ok := words[word]; ok {
		if sentinel == ErrConfig {
			text = strings.TrimPrefix(text, word+" ")
		}
		return fmt.Errorf("%w: %s", sentinel, text), true
	}
	if advice, ok := elsewhere[word]; ok {
		return fmt.Errorf("%w: %s", refusal, advice), true
	}
	return refusal, true
}

// wordOf returns the word by which a refusal is known. It is the first one, but Redis 6.2 and
// miniredis wrap what a command inside a script was refused with:
//
//	ERR Error running script (call to f_1f8f4c): @user_script:1: @user_script: 1: -READONLY ...
//	@user_script: 1: -READONLY You can't write against a replica.
func wordOf(err redis.Error) string {
	text := err.Error()
	first, rest, _ := strings.Cut(text, " ")
	if first != "ERR" && !strings.HasPrefix(first, "@") {
		return first
	}
	for word := range strings.FieldsSeq(rest) {
		word = strings.TrimPrefix(word, "-")
		if word == "WRONGTYPE" || word == "OOM" || elsewhere[word] != "" {
			return word
		}
	}
	return first
}

// Misled reports whether the server refused as it refuses whoever writes: its connections are given
// up.
func Misled(err error) bool {
	refusal, refused := refusalIn(err)
	return refused && elsewhere[wordOf(refusal)] != ""
}

// Passes reports whether the server refused for a reason that goes by, here or elsewhere.
func Passes(err error) bool {
	refusal, refused := refusalIn(err)
	if !refused {
		return false
	}
	word := wordOf(refusal)
	return passing[word] || elsewhere[word] != "" || strings.HasPrefix(refusal.Error(), "ERR max number of clients")
}

// Lasts reports whether the server refused, and will refuse the same until somebody mends
// something.
func Lasts(err error) bool {
	_, refused := refusalIn(err)
	return errors.Is(err, ErrWrongType) || errors.Is(err, ErrRedisFull) || refused && !Passes(err)
}

// refusalIn finds the refusal of the server in an error.
func refusalIn(err error) (refusal redis.Error, found bool) {
	if err == nil {
		return "", false
	}
	found = errors.As(err, &refusal)
	return refusal, found
}

package worqr_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
	"github.com/worqr/worqr-go/worqr"
)

// scenario 111: the rights that SECURITY.md gives suffice for everything.
func TestTheRightsOfThePageSuffice(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ACL (SETUSER worqr .*)$`).FindSubmatch(page)
	if line == nil {
		t.Fatal("SECURITY.md has no rights")
	}
	server := redistest.Own(t)
	c := server.Conn(t)
	if _, err := c.Do("ACL", redis.Args{}.AddFlat(strings.Fields(string(line[1])))...); err != nil {
		t.Fatal(err)
	}
	url := "redis://worqr:password@" + server.Addr() + "/0"
	everyVerb(t, openAt(t, url, worqr.Config{Namespace: "worqr"}))
	everyPersistentVerb(t, openAt(t, url, worqr.Config{Namespace: "worqr"}))
	refused, err := redis.Values(c.Do("ACL", "LOG"))
	if err != nil || len(refused) > 0 {
		t.Errorf("%d refusals, %v: %s", len(refused), err, refused)
	}
}

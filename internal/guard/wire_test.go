package guard

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What dials, or is given what dials. Nothing else in worqr knows the client of Redis.
var dials = []string{"worqr/client.go", "worqr/line.go", "worqr/url.go", "worqr/whereabouts.go"}

const redigo = "github.com/gomodule/redigo/redis"

func TestOnlyWhatDialsImportsTheClient(t *testing.T) {
	for file, parsed := range library(t, "worqr") {
		imports := slices.ContainsFunc(parsed.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == strconv.Quote(redigo) })
		switch dialling := slices.Contains(dials, file); {
		case imports && !dialling:
			t.Errorf("%s imports the client of Redis: make a call of internal/wire for what it asks", file)
		case !imports && dialling:
			t.Errorf("%s does not import the client of Redis any more: take it off the list", file)
		}
	}
}

// What reads a reply by position or kind, in redigo.
var reads = regexp.MustCompile(`^(Scan|ScanSlice|ScanStruct|Values|Strings?|StringMap|Ints?|IntMap|Int64s?|Int64Map|Uint64s?|Float64s?|Bool|Bytes|ByteSlices|Positions)$`)

// Only internal/wire knows a key, a channel, a command or a position: nobody else in worqr writes
// one down.
func TestOnlyWireKnowsWhatRedisIsTold(t *testing.T) {
	var names []string // of keys and channels
	commands := map[string]bool{
		"EVAL": true, "EVALSHA": true, "SCRIPT": true, "SSCAN": true, "LLEN": true, "LRANGE": true, "TIME": true, "CLIENT": true, "PING": true, "WAIT": true,
	}
	for _, text := range luaFiles(t) {
		text = comments.ReplaceAllString(text, "")
		for _, found := range regexp.MustCompile(`':([a-z]+):?'`).FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
		for _, found := range literal.FindAllStringSubmatch(text, -1) {
			commands[found[1]] = true
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 30 || len(commands) < 45 {
		t.Fatalf("only %v and %d commands are found", names, len(commands))
	}
	raw := regexp.MustCompile(`^[{}]$|:(` + strings.Join(names, "|") + `)(:|$)|:\{|@%d`)
	for file, parsed := range library(t, "worqr") {
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if n.Kind != token.STRING || err != nil {
					break
				}
				if raw.MatchString(text) {
					t.Errorf("%s has %s, which is a part of a key or channel", file, n.Value)
				}
				if commands[text] && !slices.Contains(dials, file) {
					t.Errorf("%s has %s, which is a command", file, n.Value)
				}
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok {
					if of, ok := s.X.(*ast.Ident); ok && of.Name == path.Base(redigo) && reads.MatchString(s.Sel.Name) {
						t.Errorf("%s reads a reply by redis.%s", file, s.Sel.Name)
					}
				}
			}
			return true
		})
	}
}

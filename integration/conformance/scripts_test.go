package conformance

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/worqr/worqr-go/internal/redistest"
)

const folder = "../../internal/wire/lua/"

// operation is a script as a client makes it whose author has read docs/protocol.md.
type operation struct {
	text, sha string
	mesh      bool // it works in the slot of the mesh
}

// assemble makes all scripts as docs/protocol.md requires.
func assemble(t testing.TB) map[string]operation {
	t.Helper()
	_, part, found := strings.Cut(page(t, "protocol.md"), "### The text of a script\n")
	if !found {
		t.Fatal("docs/protocol.md does not tell how the text of a script is made")
	}
	part, _, _ = strings.Cut(part, "\n### ")
	all := map[string]operation{}
	for _, row := range regexp.MustCompile("(?m)^\\| ([^|]*)its own in `([a-z]+)/` \\| ([a-z_, ]+) \\|$").FindAllStringSubmatch(part, -1) {
		var preludes strings.Builder
		for _, file := range regexp.MustCompile("`([a-z]+\\.lua)`").FindAllStringSubmatch(row[1], -1) {
			preludes.WriteString(stripped(t, file[1]))
		}
		for _, name := range strings.Split(row[3], ", ") {
			if _, twice := all[name]; twice {
				t.Errorf("docs/protocol.md names %s in two rows of the table of files", name)
			}
			text := preludes.String() + stripped(t, row[2]+"/"+name+".lua")
			sum := sha1.Sum([]byte(text))
			all[name] = operation{text: text, sha: hex.EncodeToString(sum[:]), mesh: preludes.Len() == 0}
		}
	}
	return all
}

// stripped applies steps 2 to 4 of the page to a file.
func stripped(t testing.TB, file string) string {
	t.Helper()
	source, err := os.ReadFile(folder + file)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, line := range strings.Split(string(source), "\n") {
		line = strings.Trim(line, " \t\r")
		if line == "" || strings.HasPrefix(line, "--") {
			continue
		}
		text.WriteString(line + "\n")
	}
	return text.String()
}

// A client that assembles the scripts as docs/protocol.md requires gets the bytes that the Go
// client sends: those of docs/scripts.json, which a test in internal/wire compares with its loader.
// The checks show that each script runs.
func TestEveryScriptIsMadeAsThePageSays(t *testing.T) {
	var file struct {
		Scripts []struct {
			Name, Slot, SHA1, Source string
		}
	}
	if err := json.Unmarshal([]byte(page(t, "scripts.json")), &file); err != nil {
		t.Fatal(err)
	}
	all, conn := assemble(t), redistest.Shared(t).Conn(t)
	unnamed := maps.Clone(all)
	for _, shipped := range file.Scripts {
		made, named := all[shipped.Name]
		if delete(unnamed, shipped.Name); !named {
			t.Errorf("docs/protocol.md does not tell the files of %s", shipped.Name)
			continue
		}
		if made.text != shipped.Source || made.sha != shipped.SHA1 || made.mesh != (shipped.Slot == "mesh") {
			t.Errorf("%s: by docs/protocol.md it has the SHA-1 %s and mesh slot %v, the Go client sends %s, slot %s; "+
				"is its row in the table of files right, and docs/scripts.json current (make scripts)?",
				shipped.Name, made.sha, made.mesh, shipped.SHA1, shipped.Slot)
		}
		if sha, err := redis.String(conn.Do("SCRIPT", "LOAD", made.text)); err != nil || sha != shipped.SHA1 {
			t.Errorf("Redis loads %s as %s, %v; want %s", shipped.Name, sha, err, shipped.SHA1)
		}
	}
	if len(unnamed) > 0 {
		t.Errorf("docs/protocol.md lists the files of what is no script: %v", slices.Collect(maps.Keys(unnamed)))
	}
	if files, err := filepath.Glob(folder + "*/*.lua"); err != nil || len(files) < len(file.Scripts) {
		t.Errorf("%d scripts from %d files, %v", len(file.Scripts), len(files), err)
	}
}

// page reads a file of docs.
func page(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

package guard

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/protocol.md has a row for each script, in the table of its slot, and a row for each word by
// which a script refuses. The author of a client in another language reads nothing else.
func TestTheProtocolNamesWhatTheScriptsDo(t *testing.T) {
	data, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	mesh, rest := section(t, string(data), "### In the mesh's slot\n")
	queue, _ := section(t, rest, "### In the slot of a queue\n")
	documented := map[string]string{}
	for slot, rows := range map[string]string{"mesh": mesh, "queue": queue} {
		for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`: ").FindAllStringSubmatch(rows, -1) {
			documented[row[1]] = slot
		}
	}
	refusals, _ := section(t, string(data), "### Errors\n")

	scripts := map[string]string{}
	for name, text := range luaFiles(t) {
		if name == "lib" || name == "hold" {
			continue
		}
		scripts[name] = "queue"
		if strings.Contains(text, "-- KEYS[1]") { // the others have what lib.lua says
			scripts[name] = "mesh"
		}
		for _, word := range regexp.MustCompile(`(?:err = '|return )([A-Z]+)\b`).FindAllStringSubmatch(text, -1) {
			row := regexp.MustCompile("(?m)^\\| `" + word[1] + "` \\| ([^|]+)").FindStringSubmatch(refusals)
			if row == nil || !strings.Contains(row[1], name) {
				t.Errorf("docs/protocol.md does not list that %s refuses with %s", name, word[1])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if documented[name] != scripts[name] {
			t.Errorf("docs/protocol.md has %s in the slot %q, it works in that of the %s", name, documented[name], scripts[name])
		}
		delete(documented, name)
	}
	if len(documented) > 0 {
		t.Errorf("docs/protocol.md names scripts that are not in internal/wire/lua: %v", documented)
	}
}

// section returns what stands below a heading, up to the next heading, and what follows the
// heading.
func section(t *testing.T, text, heading string) (body, rest string) {
	t.Helper()
	_, rest, found := strings.Cut(text, heading)
	if !found {
		t.Fatalf("docs/protocol.md has no %q", heading)
	}
	body, _, _ = strings.Cut(rest, "\n#")
	return body, rest
}

// A client meets each key and channel that a script names. docs/protocol.md describes what it
// holds.
func TestTheProtocolNamesEveryKeyAndChannel(t *testing.T) {
	data, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	keys, rest := section(t, string(data), "## Keys\n")
	channels, _ := section(t, rest, "## Channels\n")
	for file, text := range luaFiles(t) {
		if file == "check" { // its keys are gone when it returns
			continue
		}
		for _, name := range regexp.MustCompile(`':([a-z]+):?'`).FindAllStringSubmatch(text, -1) {
			if !regexp.MustCompile(`:` + name[1] + "[:` ]").MatchString(keys + channels) {
				t.Errorf("docs/protocol.md names no key or channel :%s, which %s.lua uses", name[1], file)
			}
		}
	}
}

// docs/persistent.md has the names of scripts, keys and reasons in code type. Each of them must be
// in a script.
func TestThePageOnPersistentTasksNamesWhatIsThere(t *testing.T) {
	data, err := os.ReadFile("../../docs/persistent.md")
	if err != nil {
		t.Fatal(err)
	}
	files := luaFiles(t)
	all := strings.Join(slices.Collect(maps.Values(files)), "\n")
	for _, word := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(string(data), -1) {
		if _, isScript := files[word[1]]; !isScript && !regexp.MustCompile(`\b`+word[1]+`\b`).MatchString(all) {
			t.Errorf("docs/persistent.md names `%s`, which no script has", word[1])
		}
	}
}

// luaFiles returns the scripts and their preludes, by their names without the ending.
func luaFiles(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir("../wire/lua", func(path string, d fs.DirEntry, err error) error {
		name, script := strings.CutSuffix(d.Name(), ".lua")
		if err != nil || !script {
			return err
		}
		source, err := os.ReadFile(path)
		texts[name] = string(source)
		return err
	})
	if err != nil || len(texts) == 0 {
		t.Fatalf("scripts: %d, %v", len(texts), err)
	}
	return texts
}

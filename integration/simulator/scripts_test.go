package simulator

import (
	"crypto/sha1"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// meshScripts work in the slot of the mesh and go without the prelude; all others have it, and some
// a second one.
var meshScripts = map[string]bool{
	"join": true, "beat": true, "serve": true, "unserve": true, "note": true, "forget": true, "leave": true,
	"fail": true, "sweep": true, "roster": true, "served": true, "check": true, "appear": true, "watch": true,
}

// source is one script as the library sends it.
type source struct{ name, text, sha string }

// sources reads the scripts from their folder and composes them as package worqr does. The boundary
// test fails when the library sends any other.
var sources = sync.OnceValue(func() map[string]source {
	const folder = "../../worqr/lua"
	files, err := filepath.Glob(folder + "/*.lua")
	if err != nil || len(files) == 0 {
		panic("no scripts in " + folder)
	}
	all := map[string]source{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".lua")
		if name == "lib" || name == "hold" {
			continue
		}
		text := stripped(file)
		if head, err := os.ReadFile(file); err == nil && strings.Contains(string(head), "\n-- Needs hold.lua.\n") {
			text = stripped(folder+"/hold.lua") + text
		}
		if !meshScripts[name] {
			text = stripped(folder+"/lib.lua") + text
		}
		sum := sha1.Sum([]byte(text))
		all[name] = source{name, text, hex.EncodeToString(sum[:])}
	}
	return all
})

// stripped reads a script without its comments.
func stripped(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(data)) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "--") {
			text.WriteString(t + "\n")
		}
	}
	return text.String()
}

// nameOf gives the script that has this hash, "" for none.
func nameOf(sha string) string { return shas()[sha] }

var shas = sync.OnceValue(func() map[string]string {
	names := map[string]string{}
	for name, s := range sources() {
		names[s.sha] = name
	}
	return names
})

package main

import (
	"os"
	"path/filepath"
	"strings"
)

// script assembles a script of a queue as the library does: after the preludes that it needs,
// without comments.
func script(dir, name string) (string, error) {
	own, err := os.ReadFile(filepath.Join(dir, name+".lua"))
	if err != nil {
		return "", err
	}
	files := []string{"lib", name}
	if strings.Contains(string(own), "-- Needs hold.lua.") {
		files = []string{"lib", "hold", name}
	}
	var text strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(filepath.Join(dir, file+".lua"))
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(source)) {
			if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "--") {
				text.WriteString(t + "\n")
			}
		}
	}
	return text.String(), nil
}

package main

import (
	"os"
	"path/filepath"
	"strings"
)

// script assembles a script of a queue as the library does: after the prelude, without comments.
func script(dir, name string) (string, error) {
	var text strings.Builder
	for _, file := range []string{"lib", name} {
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

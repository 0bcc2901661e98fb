package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed accepted.txt
var acceptedText string

// readAccepted reads the mistakes that no test can notice, each with its reason: a file, the line,
// the line with the mistake, the reason, and an empty line.
func readAccepted(text string) (map[string]string, error) {
	reasons := map[string]string{}
	for i, part := range strings.Split(text, "\n\n") {
		var lines []string
		for line := range strings.Lines(part) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if len(lines) == 0 {
			continue
		}
		if len(lines) < 4 || lines[1][0] != '-' || lines[2][0] != '+' {
			return nil, fmt.Errorf("accepted.txt, part %d: want a file, - the line, + the line with the mistake, and a reason", i+1)
		}
		m := mutant{File: lines[0], Old: strings.TrimSpace(lines[1][1:]), New: strings.TrimSpace(lines[2][1:])}
		reasons[m.key()] = strings.Join(lines[3:], " ")
	}
	return reasons, nil
}

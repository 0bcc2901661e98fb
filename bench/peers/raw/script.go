package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// script returns a script in the file that has them as the library sends them.
func script(path, name string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var file struct {
		Scripts []struct{ Name, Source string }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	for _, s := range file.Scripts {
		if s.Name == name {
			return s.Source, nil
		}
	}
	return "", fmt.Errorf("%s has no script %s", path, name)
}

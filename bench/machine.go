package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// place is where and when a run was.
type place struct {
	Date     string `json:"date"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	System   string `json:"system"`
	Go       string `json:"go"`
	Redis    string `json:"redis"`
	Postgres string `json:"postgres,omitempty"`
	Commit   string `json:"commit,omitempty"`
}

func here(f *field) place {
	p := place{
		Date: time.Now().UTC().Format("2006-01-02"), CPU: model(), Cores: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Redis: f.redis.version,
	}
	if f.postgres != nil {
		p.Postgres = strings.TrimSpace(f.postgres.version)
	}
	if out, err := exec.Command("git", "-C", f.root, "describe", "--always", "--dirty").Output(); err == nil {
		p.Commit = strings.TrimSpace(string(out))
	}
	return p
}

// model returns the name of the processor, where the system has it.
func model() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func (p place) String() string {
	s := fmt.Sprintf("%s, %d cores of %s, %s, %s, Redis %s on the same machine without persistence", p.Date, p.Cores, p.CPU, p.System, p.Go, p.Redis)
	if p.Postgres != "" {
		s += ", " + p.Postgres
	}
	if p.Commit != "" {
		s += "; this library at " + p.Commit
	}
	return s
}

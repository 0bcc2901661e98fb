package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestConfigDefaults(t *testing.T) {
	for _, c := range []struct{ in, want Config }{
		{Config{}, Config{time.Second, 3 * time.Second, 300 * time.Millisecond}},
		{Config{TTL: 10 * time.Second}, Config{time.Second, 10 * time.Second, time.Second}},
		{Config{TTL: 300 * time.Millisecond}, Config{100 * time.Millisecond, 300 * time.Millisecond, 30 * time.Millisecond}},
		{Config{10 * time.Millisecond, 100 * time.Millisecond, 33 * time.Millisecond},
			Config{10 * time.Millisecond, 100 * time.Millisecond, 33 * time.Millisecond}},
	} {
		if got, err := c.in.WithDefaults(); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v; want %+v", c.in, got, err, c.want)
		}
	}
}

func TestConfigRefused(t *testing.T) {
	for _, c := range []struct {
		in    Config
		names []string // the field, its value, and what it has to fit
	}{
		{Config{TTL: 99 * time.Millisecond, Every: time.Millisecond}, []string{"TTL", "99ms", "100ms"}},
		{Config{TTL: -time.Second}, []string{"TTL", "-1s", "100ms"}},
		{Config{Every: -time.Second}, []string{"Every", "-1s", "TTL", "3s"}},
		{Config{Every: 1001 * time.Millisecond}, []string{"Every", "1.001s", "TTL", "3s"}},
		{Config{TTL: 2 * time.Second, Every: time.Second}, []string{"Every", "1s", "TTL", "2s"}},
		{Config{Margin: -time.Millisecond}, []string{"Margin", "-1ms", "TTL", "3s"}},
		{Config{Margin: time.Second}, []string{"Margin", "1s", "TTL", "3s"}},
	} {
		_, err := New(c.in, func(context.Context) error { return nil })
		if !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v, want ErrConfig", c.in, err)
			continue
		}
		words := strings.FieldsFunc(err.Error(), func(r rune) bool { return strings.ContainsRune(" ,()", r) })
		for _, name := range c.names {
			if !strings.Contains(fmt.Sprint(words), name) {
				t.Errorf("%+v: %q does not name %s", c.in, err, name)
			}
		}
	}
	if _, err := New(Config{}, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("without a Beat: %v, want ErrConfig", err)
	}
}

func TestHostClock(t *testing.T) {
	c := hostClock()
	first, known := c.slept()
	if !known {
		t.Skip("what the host slept is not known here")
	}
	for range 1000 {
		if again, _ := c.slept(); (again - first).Abs() > 100*time.Millisecond {
			t.Fatalf("slept %v, then %v: the host cannot have slept in between", first, again)
		}
	}
	if first < -time.Millisecond {
		t.Errorf("slept %v", first)
	}
}

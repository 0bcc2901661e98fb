package presence

import (
	"errors"
	"testing"
	"time"
)

func TestConfigIsChecked(t *testing.T) {
	dial, channel := dialURL("redis://127.0.0.1"), func() string { return "c" }
	for name, cfg := range map[string]Config{
		"no Dial":       {Channel: channel},
		"no Channel":    {Dial: dial},
		"long Grace":    {Dial: dial, Channel: channel, Grace: HolderGrace + 1},
		"negative":      {Dial: dial, Channel: channel, Grace: -1},
		"short Ping":    {Dial: dial, Channel: channel, Ping: 1},
		"short Silence": {Dial: dial, Channel: channel, Ping: time.Second, Silence: time.Second},
	} {
		if _, err := New(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, cfg := range map[string]WatchConfig{
		"short Grace": {Grace: JudgeGrace - 1}, "long Every": {Every: JudgeGrace}, "negative": {Every: -1},
	} {
		if _, err := NewWatch(cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBackoff(t *testing.T) {
	if first := backoff(0, 5*time.Second); first != 0 {
		t.Errorf("the first pause is %v", first)
	}
	for failures := 1; failures < 100; failures++ {
		want := min(5*time.Millisecond<<min(failures-1, 20), 5*time.Second)
		if got := backoff(failures, 5*time.Second); got < want*3/4 || got > want*5/4 {
			t.Errorf("after %d failures a pause of %v, want about %v", failures, got, want)
		}
	}
}

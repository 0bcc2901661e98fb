package redistest

import "testing"

func TestChild(t *testing.T) {
	t.Parallel()
	c := StartChild(t, "echo", "a", "b")
	if line := c.Line(t, soon); line != "args a b" {
		t.Fatalf("line %q", line)
	}
	c.Tell(t, "one")
	c.Tell(t, "two")
	if line := c.WaitLine(t, "line t", soon); line != "line two" {
		t.Fatalf("line %q", line)
	}
	c.Freeze(t)
	c.Tell(t, "three")
	c.Thaw(t)
	c.WaitLine(t, "line three", soon)
	c.Term(t)
	if code := c.Wait(t, soon); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	c.WaitLine(t, "term", soon)
	if got := len(c.Lines()); got != 5 {
		t.Fatalf("%d lines: %q", got, c.Lines())
	}
}

func TestChildFates(t *testing.T) {
	t.Parallel()
	if code := StartChild(t, "fail").Wait(t, soon); code != 3 {
		t.Errorf("exit code %d", code)
	}
	c := StartChild(t, "echo")
	c.Line(t, soon)
	c.Freeze(t)
	c.Kill(t)
	if code := c.Wait(t, soon); code != -1 {
		t.Errorf("exit code %d after a kill", code)
	}
	end := StartChild(t, "echo")
	end.Line(t, soon)
	end.Stdin.Close()
	if code := end.Wait(t, soon); code != 0 {
		t.Errorf("exit code %d at the end of stdin", code)
	}
}

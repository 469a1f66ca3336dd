package shell

import "testing"

func TestCatastrophe(t *testing.T) {
	all := lines(t, "catastrophes.txt")
	if len(all) < 60 {
		t.Errorf("there are %d catastrophes; the table promises 60", len(all))
	}
	for _, line := range all {
		if Parse(t.Context(), line).Catastrophe() == "" {
			t.Errorf("not seen: %q", line)
		}
	}
}

func TestNoCatastrophe(t *testing.T) {
	all := lines(t, "near.txt")
	if len(all) < 40 {
		t.Errorf("there are %d near-misses; the table promises 40", len(all))
	}
	for _, line := range all {
		if why := Parse(t.Context(), line).Catastrophe(); why != "" {
			t.Errorf("%q is none: %s", line, why)
		}
	}
}

package domain

import (
	"strings"
	"testing"
)

func TestTooDeep(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	objects := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for name, test := range map[string]struct {
		document string
		want     bool
	}{
		"nothing":                    {"", false},
		"as deep as may be":          {nested(MaxDepth), false},
		"one level more":             {nested(MaxDepth + 1), true},
		"objects as deep as may be":  {objects(MaxDepth), false},
		"objects, one level more":    {objects(MaxDepth + 1), true},
		"many beside each other":     {"[" + strings.Repeat("[],", 1000) + "{}]", false},
		"deep behind many":           {"[" + strings.Repeat("{},", 1000) + nested(MaxDepth) + "]", true},
		"brackets in a string":       {`["` + strings.Repeat("[{", 1000) + `"]`, false},
		"behind an escaped quote":    {`["\"` + strings.Repeat("[", 1000) + `"]`, false},
		"behind an escaped escape":   {`["\\",` + nested(MaxDepth) + `]`, true},
		"in the name of a member":    {`{"` + strings.Repeat("{", 1000) + `":1}`, false},
		"cut off":                    {strings.Repeat("[", 1_000_000), true},
		"cut off behind a backslash": {strings.Repeat("[]", 1000) + `"\`, false},
	} {
		if got := TooDeep([]byte(test.document)); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if allocated := testing.AllocsPerRun(10, func() { TooDeep([]byte(`["` + "x" + `"]`)) }); allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
}

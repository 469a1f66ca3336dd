package checkpoints

import (
	"flag"
	"os"
	"testing"
)

// asked reports whether the command line sets -rapid.checks.
var asked bool

func TestMain(m *testing.M) {
	flag.Parse()
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	os.Exit(m.Run())
}

// checks has the properties of a test hold that many times, unless -rapid.checks says otherwise: each time starts git dozens of times.
func checks(t *testing.T, times string) {
	t.Helper()
	if asked {
		return
	}
	if err := flag.Set("rapid.checks", times); err != nil {
		t.Fatal(err)
	}
}

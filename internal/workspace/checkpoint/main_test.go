package checkpoint

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain has each property hold 25 times, unless -rapid.checks says otherwise: each time takes a dozen processes.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

package store_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"signoff/internal/store/storetest"
)

func TestMain(m *testing.M) {
	if steps := os.Getenv(stepsVariable); steps != "" {
		dieInTheMigration(steps)
	}
	if os.Getenv(helperVariable) != "" {
		appendForEver()
	}
	os.Exit(storetest.Main(leakFree{m}))
}

// leakFree fails a run that leaves goroutines behind.
type leakFree struct{ m *testing.M }

func (l leakFree) Run() int {
	code := l.m.Run()
	if code == 0 {
		// golang-migrate reads a file ahead, and where the one before failed nobody takes it up. A server or a
		// `signoff migrate` whose migration fails ends with it.
		ahead := goleak.IgnoreAnyFunction("github.com/golang-migrate/migrate/v4.(*Migration).Buffer")
		if err := goleak.Find(ahead); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

package store_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"signoff/internal/store/storetest"
)

func TestMain(m *testing.M) {
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
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

package acptest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// LeakFree runs tests for [Main], and fails them where they leave goroutines behind.
type LeakFree struct{ Tests *testing.M }

// Run returns the exit code of the tests, or 1 after a leak.
func (l LeakFree) Run() int {
	if code := l.Tests.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

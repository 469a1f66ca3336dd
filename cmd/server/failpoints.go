//go:build failpoints

package main

import (
	"fmt"
	"os"

	"signoff/internal/failpoint"
)

// A build for tests may be told where to die. That is not a setting: the binary that people run has nothing of it.
func init() {
	if err := failpoint.Arm(os.Getenv(prefix+"_TEST_FAILPOINT"), os.Getenv(prefix+"_TEST_FAILPOINT_LOG")); err != nil {
		fmt.Fprintln(os.Stderr, "signoff:", err)
		os.Exit(exitUsage)
	}
}

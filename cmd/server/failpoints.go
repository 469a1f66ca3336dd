//go:build failpoints

package main

import (
	"fmt"
	"os"

	"signoff/internal/failpoint"
)

// A build for tests can be made to die at a failpoint. This is no setting: released binaries have no failpoints.
func init() {
	if err := failpoint.Arm(os.Getenv(prefix+"_TEST_FAILPOINT"), os.Getenv(prefix+"_TEST_FAILPOINT_LOG")); err != nil {
		fmt.Fprintln(os.Stderr, "signoff:", err)
		os.Exit(exitUsage)
	}
}

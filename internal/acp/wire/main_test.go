package wire

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails tests that leave goroutines behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

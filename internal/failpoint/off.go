//go:build !failpoints

package failpoint

// Enabled reports whether this is a build for tests.
const Enabled = false

// Hit does nothing.
func Hit(Name) {}

package e2e

import (
	"testing"
)

// TestRunbooks is what a runbook's editor needs beside its agent blocks and generated blocks: a call that it runs itself, the
// stream of all executions, and what the end of the server leaves.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := newStage(t, e)
		s.start()
		t.Run("an assistant inserts blocks", func(t *testing.T) { insertedBlocks(t, s) })
		t.Run("the merged stream", func(t *testing.T) { mergedStream(t, s) })
		t.Run("kill -9", func(t *testing.T) { killedRunbooks(t, s) })
		t.Run("kill -9 again and again", func(t *testing.T) { killsOfGenerations(t, s) })
	})
}

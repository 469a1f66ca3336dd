package template

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// errNotStarted is a child that there never was.
var errNotStarted = errors.New("the child cannot be started")

// process runs an executable as a child. When what it returns comes back, nothing of the child is left.
func process(executable string) func(ctx context.Context, order []byte, report io.Writer) error {
	return func(ctx context.Context, order []byte, report io.Writer) error {
		child := exec.CommandContext(ctx, executable, renderArg)
		child.Env = []string{}
		child.Stdin, child.Stdout = bytes.NewReader(order), report // no stderr: what Go says when it dies shows the stack
		child.SysProcAttr = alone()
		child.Cancel = func() error { return kill(child.Process.Pid) }
		child.WaitDelay = time.Second
		if err := child.Start(); err != nil {
			return fmt.Errorf("%w: %w", errNotStarted, err)
		}
		return child.Wait()
	}
}

// maxReport holds the longest text in its longest JSON, with room for the usage.
const maxReport = 6*MaxText + 16*MaxSource

// capped is a buffer with an end. The child is confined, but it speaks to the server, which is not. The buffer is not
// embedded: io.Copy would find its ReadFrom and go past the end.
type capped struct {
	written []byte
	left    int
}

func (c *capped) Write(p []byte) (int, error) {
	if len(p) > c.left {
		return 0, errors.New("the report is too long")
	}
	c.left -= len(p)
	c.written = append(c.written, p...)
	return len(p), nil
}

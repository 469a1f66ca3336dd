package sessions

import (
	"context"

	"signoff/internal/domain"
)

// OpenFiles opens the folders that the file tools of an execution with the request would see, for a prompt that names files. It asks no policy. The caller
// closes them.
func (e *Engine) OpenFiles(ctx context.Context, request domain.Request) (Files, error) {
	return e.environment(request).access(ctx)
}

package dispatch

import (
	"context"
	"io/fs"

	"signoff/internal/domain"
)

// OpenFile opens a file as the file tools of an execution with the request would see it. It judges nothing.
func (m *Manager) OpenFile(ctx context.Context, request domain.Request, path string) (fs.File, error) {
	return m.engine.OpenFile(ctx, request, path)
}

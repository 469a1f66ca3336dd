package dispatch

import (
	"context"

	"signoff/internal/domain"
	"signoff/internal/files"
)

// OpenFiles implements [files.Workspace].
func (m *Manager) OpenFiles(ctx context.Context, request domain.Request) (files.Folder, error) {
	return m.engine.OpenFiles(ctx, request)
}

package sessions

import (
	"context"
	"io/fs"

	"signoff/internal/domain"
)

// OpenFile opens a file as the file tools of an execution with the request would see it, for a prompt that names it. It judges nothing.
func (e *Engine) OpenFile(ctx context.Context, request domain.Request, path string) (fs.File, error) {
	environment := e.environment(request)
	files, err := environment.access(ctx)
	if err != nil {
		environment.close()
		return nil, err
	}
	opened, err := files.Open(ctx, path)
	if err != nil {
		environment.close()
		return nil, err
	}
	return fileOfEnvironment{opened, environment}, nil
}

// fileOfEnvironment closes the environment that was opened for it.
type fileOfEnvironment struct {
	fs.File
	environment *environment
}

func (f fileOfEnvironment) Close() error {
	defer f.environment.close()
	return f.File.Close()
}

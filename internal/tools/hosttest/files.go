package hosttest

import (
	"context"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"testing/fstest"

	"signoff/internal/domain"
)

// OpenFile implements [domain.Host].
func (h *Host) OpenFile(_ context.Context, path string) (fs.File, error) {
	name, err := h.relative(path)
	if err != nil {
		return nil, err
	}
	return h.filesystem().Open(name)
}

// ViewFile implements [domain.Host]. [Host.Viewed] has what was viewed.
func (h *Host) ViewFile(ctx context.Context, path string, show func(file fs.File) error) error {
	file, err := h.OpenFile(ctx, path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := show(file); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewed = append(h.viewed, path)
	return nil
}

// Viewed are the paths of the files that the agent was shown so far.
func (h *Host) Viewed() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.viewed)
}

// ReadDir implements [domain.Host].
func (h *Host) ReadDir(_ context.Context, path string) ([]fs.DirEntry, error) {
	name, err := h.relative(path)
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(h.filesystem(), name)
}

// WriteFiles implements [domain.Host].
func (h *Host) WriteFiles(_ context.Context, changes ...domain.FileChange) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Tree == nil {
		return domain.Errorf(domain.CodeToolFailed, "hosttest: nothing may be written.")
	}
	changed := maps.Clone(h.Tree)
	for _, change := range changes {
		name, err := h.relative(change.Path)
		if err != nil {
			return err
		}
		if there, exists := h.Tree[name]; !expected(change, there, exists) {
			return domain.Errorf(domain.CodeConflict, "%s is not what it was.", change.Path)
		}
		if change.Delete {
			delete(changed, name)
		} else {
			changed[name] = string(change.Content)
		}
	}
	h.Tree = changed
	return nil
}

func expected(change domain.FileChange, there string, exists bool) bool {
	switch change.Expect {
	case domain.NoFile:
		return !exists
	case domain.SameFile:
		return exists && there == string(change.Before)
	default:
		return true
	}
}

// Content returns a file of the Tree as it is now.
func (h *Host) Content(path string) (content string, exists bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	content, exists = h.Tree[path]
	return content, exists
}

// filesystem is what can be read now.
func (h *Host) filesystem() fs.FS {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Tree == nil && h.Files != nil {
		return h.Files
	}
	files := fstest.MapFS{}
	for path, content := range h.Tree {
		files[path] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	return files
}

// relative is the path below Dir.
func (h *Host) relative(path string) (string, error) {
	below := path
	if filepath.IsAbs(path) && h.Dir != "" {
		if inside, err := filepath.Rel(h.Dir, path); err == nil {
			below = inside
		}
	}
	if !filepath.IsLocal(below) {
		return "", domain.Errorf(domain.CodePathOutsideWorkspace, "The path leaves the workspace.")
	}
	return filepath.Clean(below), nil
}

package sessions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"signoff/internal/domain"
)

// The executions of a tree work in one folder at the same time. An agent that replaces a file it has read an hour ago would undo the later changes of
// another agent. So each execution keeps a hash of the content that it has viewed, and changes no other content. A hash detects all changes, also those
// by commands and by agents that write by themselves; a table of writers would not.

// ViewedFiles keeps the hashes of the contents that executions have viewed, by the path of the file.
type ViewedFiles interface {
	// ViewedFiles omits files that the execution has never viewed.
	ViewedFiles(ctx context.Context, id domain.ExecutionID, paths ...string) (map[string]domain.ContentHash, error)
	SaveViewedFiles(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, epoch int64, viewed map[string]domain.ContentHash) error
}

// viewedFiles are those of one execution. Its methods may be called by several goroutines at once. Nil is an execution in no tree, which is not checked.
type viewedFiles struct {
	core
	mu sync.Mutex // from the reading of a file until its hash is saved: calls of one answer run at once, and none takes the write of another for a foreign one
}

func (c core) viewedFiles() *viewedFiles {
	if !c.execution.Request.InTree() {
		return nil
	}
	return &viewedFiles{core: c}
}

// view calls show with a file, and saves the hash of its content. It hashes the bytes that show reads, and then the rest. A second reading could find
// another content, which the agent has not seen.
func (v *viewedFiles) view(ctx context.Context, path string, open func() (fs.File, error), show func(fs.File) error) error {
	if v != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
	}
	file, err := open()
	if err != nil {
		return err
	}
	defer file.Close()
	if v == nil {
		return show(file)
	}
	hashed := &hashedFile{File: file, sum: sha256.New()}
	if err := show(hashed); err != nil {
		return err
	}
	viewed, err := hashed.hashAll()
	switch {
	case err != nil:
		return domain.Errorf(domain.CodeToolFailed, "%s cannot be read.", path).With(err)
	case viewed == "": // too large to be replaced as a whole, or to be edited
		return nil
	}
	return v.save(ctx, map[string]domain.ContentHash{v.cleanPath(path): viewed})
}

// change calls write with the changes, if the files are as the execution has viewed them. Each change then expects the viewed content, because the file
// may change between this check and the write.
func (v *viewedFiles) change(ctx context.Context, changes []domain.FileChange, write func([]domain.FileChange) error) error {
	if v == nil {
		return write(changes)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	expecting, err := v.withExpectations(ctx, changes)
	if err != nil {
		return err
	}
	if err := v.engine.trees.hold(ctx, v.execution.Root(), func() error { return write(expecting) }); err != nil {
		return err
	}
	v.saveWritten(ctx, changes)
	return nil
}

// withExpectations returns the changes under the condition that the files are as the execution has viewed them. A change that expects a certain content
// needs no view: its author knows the content.
func (v *viewedFiles) withExpectations(ctx context.Context, changes []domain.FileChange) ([]domain.FileChange, error) {
	paths := make([]string, 0, len(changes))
	for _, change := range changes {
		paths = append(paths, v.cleanPath(change.Path))
	}
	viewed, err := v.engine.store.ViewedFiles(ctx, v.execution.ID, paths...)
	if err != nil {
		return nil, err
	}
	changes = slices.Clone(changes)
	for i, change := range changes {
		hash := viewed[paths[i]]
		switch change.Expect {
		case domain.AnyFile:
			changes[i].Expect, changes[i].Viewed = domain.ViewedFile, hash
		case domain.SameFile:
			if hash != "" && hash != hashOf(change.Before) {
				return nil, domain.ChangedSinceViewed(change.Path)
			}
		}
	}
	return changes, nil
}

// saveWritten saves the written content as viewed. An error of the store does not fail the change, which is done: the next change is refused until the
// file has been read.
func (v *viewedFiles) saveWritten(ctx context.Context, changes []domain.FileChange) {
	written := map[string]domain.ContentHash{}
	for _, change := range changes {
		if viewed := hashOf(change.Content); viewed != "" && !change.Delete {
			written[v.cleanPath(change.Path)] = viewed
		}
	}
	if len(written) == 0 {
		return
	}
	if err := v.save(ctx, written); err != nil {
		slog.Warn("what was written into files is not kept as viewed", "execution", v.execution.ID, "error", err)
	}
}

func (v *viewedFiles) save(ctx context.Context, viewed map[string]domain.ContentHash) error {
	return v.engine.store.SaveViewedFiles(ctx, v.execution.Tenant, v.execution.ID, v.claim.epoch, viewed)
}

// cleanPath is the unique path of a file that tools may spell in several ways.
func (v *viewedFiles) cleanPath(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(v.environment.directory, path)
	}
	return filepath.Clean(path)
}

// hashOf hashes a content; it is empty if the content is too large to be viewed.
func hashOf(content []byte) domain.ContentHash {
	viewed, _ := domain.HashContent(bytes.NewReader(content)) // a reader that never fails
	return viewed
}

// hashedFile hashes the bytes that are read of a file.
type hashedFile struct {
	fs.File
	sum    hash.Hash
	length int64 // of the bytes read so far
}

// Read implements fs.File.
func (f *hashedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.sum.Write(p[:n])
	f.length += int64(n)
	return n, err
}

// hashAll reads the rest, and returns the hash of the whole content; empty if it is too large to be viewed.
func (f *hashedFile) hashAll() (domain.ContentHash, error) {
	if _, err := io.Copy(io.Discard, io.LimitReader(f, domain.MaxViewedBytes+1-f.length)); err != nil || f.length > domain.MaxViewedBytes {
		return "", err
	}
	return domain.ContentHash(hex.EncodeToString(f.sum.Sum(nil))), nil
}

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

// The executions of a tree work in one folder at the same time. An agent that writes a file by what it has read an hour ago would undo what another one
// has written since. So each execution keeps which content of a file it has viewed, and changes no other content. A hash of the content sees all
// changes, also those by commands and by agents that write by themselves; a table of who has written what would not.

// ViewedFiles keeps the hashes of the contents that executions have viewed, by the path of the file.
type ViewedFiles interface {
	// ViewedFiles leaves out files that the execution has never viewed.
	ViewedFiles(ctx context.Context, id domain.ExecutionID, paths ...string) (map[string]domain.ContentHash, error)
	SaveViewedFiles(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID, epoch int64, viewed map[string]domain.ContentHash) error
}

// viewedFiles are those of one execution. Its methods may be called by several goroutines at once. Nil is an execution in no tree: it changes files as it likes.
type viewedFiles struct {
	core
	mu sync.Mutex // from a look at a file until its hash is kept: calls of one answer run at once, and none takes the write of another for that of a stranger
}

func (c core) viewedFiles() *viewedFiles {
	if !c.execution.Request.InTree() {
		return nil
	}
	return &viewedFiles{core: c}
}

// show has a file shown, and keeps the hash of what was in it. It hashes what show reads, and then the rest: if the file were read a second time, it
// could have changed, and the agent would count as having viewed what it was not shown.
func (v *viewedFiles) show(ctx context.Context, path string, open func() (fs.File, error), show func(fs.File) error) error {
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
	viewed, err := hashed.whole()
	switch {
	case err != nil:
		return domain.Errorf(domain.CodeToolFailed, "%s cannot be read.", path).With(err)
	case viewed == "": // too large to be replaced as a whole, or to be edited
		return nil
	}
	return v.save(ctx, map[string]domain.ContentHash{v.place(path): viewed})
}

// change lets write change files that are as the execution has viewed them. What a change expects then says so: between the check and the writing
// somebody else may change the file.
func (v *viewedFiles) change(ctx context.Context, changes []domain.FileChange, write func([]domain.FileChange) error) error {
	if v == nil {
		return write(changes)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	expecting, err := v.expecting(ctx, changes)
	if err != nil {
		return err
	}
	if err := v.engine.trees.hold(ctx, v.execution.Root(), func() error { return write(expecting) }); err != nil {
		return err
	}
	v.written(ctx, changes)
	return nil
}

// expecting are the changes under the condition that the files are as the execution has viewed them. A change that expects a certain content is allowed
// to a file that was never viewed: whoever made it knows what it changes.
func (v *viewedFiles) expecting(ctx context.Context, changes []domain.FileChange) ([]domain.FileChange, error) {
	paths := make([]string, 0, len(changes))
	for _, change := range changes {
		paths = append(paths, v.place(change.Path))
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

// written keeps what the execution has written as viewed. That it could not be kept is no failure of the change, which has happened: the next one is
// refused until the file has been read.
func (v *viewedFiles) written(ctx context.Context, changes []domain.FileChange) {
	written := map[string]domain.ContentHash{}
	for _, change := range changes {
		if viewed := hashOf(change.Content); viewed != "" && !change.Delete {
			written[v.place(change.Path)] = viewed
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

// place is the one name of a file that tools may spell in several ways.
func (v *viewedFiles) place(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(v.environment.directory, path)
	}
	return filepath.Clean(path)
}

// hashOf is empty for a content that is too large to be viewed.
func hashOf(content []byte) domain.ContentHash {
	viewed, _ := domain.HashContent(bytes.NewReader(content)) // which does not fail to be read
	return viewed
}

// hashedFile hashes what is read of a file.
type hashedFile struct {
	fs.File
	sum    hash.Hash
	length int64 // of what was read
}

// Read implements fs.File.
func (f *hashedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.sum.Write(p[:n])
	f.length += int64(n)
	return n, err
}

// whole reads the rest, and returns the hash of all; empty if it is too large to be viewed.
func (f *hashedFile) whole() (domain.ContentHash, error) {
	if _, err := io.Copy(io.Discard, io.LimitReader(f, domain.MaxViewedBytes+1-f.length)); err != nil || f.length > domain.MaxViewedBytes {
		return "", err
	}
	return domain.ContentHash(hex.EncodeToString(f.sum.Sum(nil))), nil
}

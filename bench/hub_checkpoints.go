package main

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"signoff/internal/domain"
)

// checkpoint takes one of a file, or of all files below a folder. Where something has changed it starts git, as the server's does.
func (h hubTurns) checkpoint(ctx context.Context, path string) error {
	changed, err := h.checkpoints.take(path)
	if err == nil && changed {
		_, err = h.child(ctx, "git --version")
	}
	return err
}

// hubCheckpoints look at every file, and read those whose size or time is another than before. The contents are hashed, compressed and written to one
// file, one behind the other, and are on disk when a checkpoint is there. Nobody can read them back.
type hubCheckpoints struct {
	mu      sync.Mutex
	store   *os.File
	squeeze *zlib.Writer
	seen    map[string]hubLook
}

// hubLook is the state of a file by which a change shows.
type hubLook struct {
	size, modified int64
}

func newHubCheckpoints() (*hubCheckpoints, error) {
	store, err := os.CreateTemp("", "signoff-bench-hub-")
	if err != nil {
		return nil, err
	}
	squeeze, err := zlib.NewWriterLevel(nil, zlib.BestSpeed) // as a checkpoint has git compress
	if err = errors.Join(err, os.Remove(store.Name())); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &hubCheckpoints{store: store, squeeze: squeeze, seen: map[string]hubLook{}}, nil
}

func (c *hubCheckpoints) close() error { return c.store.Close() }

func (c *hubCheckpoints) take(path string) (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		now := hubLook{info.Size(), info.ModTime().UnixNano()}
		if c.seen[path] == now {
			return nil
		}
		c.seen[path], changed = now, true
		return c.write(path)
	})
	if err == nil && changed {
		err = c.store.Sync()
	}
	return changed, err
}

func (c *hubCheckpoints) write(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	packed := bytes.NewBuffer(sum[:])
	c.squeeze.Reset(packed)
	if _, err := c.squeeze.Write(content); err != nil {
		return err
	}
	if err := c.squeeze.Close(); err != nil {
		return err
	}
	_, err = c.store.Write(packed.Bytes())
	return err
}

// addCheckpoint reports a checkpoint.
func (l *hubLog) addCheckpoint() {
	l.addPayload(domain.CheckpointCreatedType, map[string]any{"status": domain.CheckpointTaken})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"signoff/internal/sandbox"
	"signoff/internal/workspace/checkpoint"
	"signoff/internal/workspace/writers"
)

// checkpoints reports whether the server can take checkpoints, how many bytes they take, and whether the server sees other writers. It makes no folder.
func (d *diagnosis) checkpoints(ctx context.Context, config Config, file configFile, box *sandbox.Sandbox) {
	bounds, err := file.checkpointBounds()
	switch {
	case err != nil:
		d.bad("checkpoints", err)
		return
	case box == nil: // another line of the report says so
		return
	}
	if why := noCheckpoints(box); why != "" {
		d.note("checkpoints", "unavailable. "+why)
		return
	}
	var out strings.Builder
	scratch, err := os.MkdirTemp("", "signoff-doctor-")
	if err != nil {
		d.bad("checkpoints", err)
		return
	}
	defer os.RemoveAll(scratch)
	if err := (isolatedGit{box}).Run(ctx, checkpoint.Command{Argv: []string{"git", "version"}, Repository: scratch}, nil, &out); err != nil {
		d.bad("checkpoints", fmt.Errorf("git does not run in isolation: %w", err))
		return
	}
	folder, usage, err := config.checkpointUsage()
	if err != nil {
		d.bad("checkpoints", err)
		return
	}
	d.good("checkpoints", fmt.Sprintf("%s; %s has %s", strings.TrimSpace(out.String()), folder, usage.text(bounds)))
	d.writers()
}

// writers reports which other writers the server can see while a command runs.
func (d *diagnosis) writers() {
	observer, err := writers.New()
	if err != nil {
		d.note("checkpoints: writers", "other programs cannot be seen to write beside a command, so what they change then counts as the execution's: "+err.Error())
		return
	}
	defer observer.Close()
	if blind := observer.Blind(); blind != "" {
		d.note("checkpoints: writers", blind)
		return
	}
	d.good("checkpoints: writers", "other programs are seen when they write beside a command")
}

// room is the size of the checkpoints of all workspaces.
type room struct {
	workspaces int
	bytes      int64
}

func (r room) text(bounds checkpoint.Bounds) string {
	noun := "workspaces"
	if r.workspaces == 1 {
		noun = "workspace"
	}
	return fmt.Sprintf("%d %s in %.1f MiB; at most %.1f GiB each, and %.1f GiB in all", r.workspaces, noun, float64(r.bytes)/(1<<20),
		float64(bounds.Workspace)/(1<<30), float64(bounds.All)/(1<<30))
}

// checkpointUsage counts the checkpoints of all databases that have some in the folder.
func (c Config) checkpointUsage() (folder string, r room, err error) {
	if folder, err = filepath.Abs(c.checkpointDir()); err != nil {
		return folder, r, err
	}
	databases, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return folder, r, err
	}
	for _, database := range databases {
		if !database.IsDir() {
			continue
		}
		usage, err := checkpoint.UsageIn(filepath.Join(folder, database.Name()))
		if err != nil {
			return folder, r, err
		}
		for _, one := range usage {
			r.workspaces++
			r.bytes += one.Bytes
		}
	}
	return folder, r, nil
}

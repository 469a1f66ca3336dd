package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Files that a command leaves in the workspace can make programs outside run something: git, which runs hooks and the programs
// of its config; direnv and editors; and the agents that this server starts in the same folder, without isolation, which
// read commands from their settings. What is there is read-only inside. What is not there yet cannot be mounted over, so
// it is watched: whatever has appeared in such a place when the command is over is moved away before its result is returned.

// trusted are the files that make programs outside run something. Signoff itself is such a program: a server that is started without
// SIGNOFF_CONFIG reads signoff.yaml in the folder that it is started in. Texts that agents merely read, such as AGENTS.md, are not in it: who
// is to write code may write those, too, and what an agent does after reading them is judged as all that it does.
var trusted = []string{
	".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml", ".cursor/mcp.json", ".envrc",
	".gemini/settings.json", ".mcp.json", ".opencode", ".vscode/settings.json", ".vscode/tasks.json", "opencode.json",
	"opencode.jsonc", "signoff.yaml",
}

// Trusted returns the names of files that make programs outside run something, below any folder. All other code that writes files for
// an agent must guard the same names.
func Trusted() []string { return slices.Clone(trusted) }

// GitParts returns the names below a folder of git's that lead git to programs.
func GitParts() []string { return slices.Clone(gitParts) }

// gitParts lead git to programs. A commondir names another folder to take config and hooks from; worktrees holds those of
// other working trees, which may lie outside.
var gitParts = []string{"commondir", "config", "config.worktree", "hooks", "modules", "worktrees"}

// watchedPlace is a part of the workspace that a command must leave as it was.
type watchedPlace struct {
	Path string // relative to the workspace
	Link string `json:",omitempty"` // the target of the link; empty: no file was there
}

// watchedFolder is one that a command may write: the workspace, or a mount of its environment.
type watchedFolder struct {
	Path   string
	Folder identity // when the plan was made
	Mount  bool     // and not the workspace
	Places []watchedPlace
}

// watched lists the places in all folders that a command may write.
func (s *Sandbox) watched(dir string, folder identity, v view) ([]watchedFolder, error) {
	all := []watchedFolder{{Path: dir, Folder: folder, Places: s.config.watches(dir)}}
	for _, one := range v.Shown {
		if info, err := os.Stat(one.Path); !one.Write || one.Target != "" || err != nil || !info.IsDir() {
			continue
		}
		folder, err := identify(one.Path)
		if err != nil {
			return nil, err
		}
		all = append(all, watchedFolder{Path: one.Path, Folder: folder, Mount: true, Places: s.config.watches(one.Path)})
	}
	return all, nil
}

// watches lists the places that are to stay empty, or links.
func (c Config) watches(dir string) []watchedPlace {
	var all []watchedPlace
	for _, path := range slices.Concat(c.ReadOnly, c.links) {
		if relative, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(relative) {
			all = append(all, watchOne(dir, relative)...)
		}
	}
	all = append(all, watchOne(dir, ".git")...)
	for _, part := range gitParts {
		if part != "worktrees" { // leads nowhere without the other working tree's word
			all = append(all, watchOne(dir, filepath.Join(".git", part))...)
		}
	}
	all = append(all, watchOne(dir, "HEAD")...)
	for _, path := range trusted {
		all = append(all, watchOne(dir, path)...)
	}
	return all
}

// watchOne watches path, or the link on the way to it. What is there as a plain file or folder is guarded.
func watchOne(dir, path string) []watchedPlace {
	for _, part := range append(parents(path), path) {
		target, err := os.Readlink(filepath.Join(dir, part))
		switch {
		case err == nil:
			return []watchedPlace{{Path: part, Link: target}}
		case isAbsent(err):
			return []watchedPlace{{Path: path}}
		}
	}
	return nil
}

// isAbsent also holds where a file lies in the place of a folder above.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// protectTrusted guards the existing files. It leaves the targets of links alone, as the author of the link wants.
func protectTrusted(dir string, add func(string, guardKind)) {
	for _, path := range trusted {
		if isPlain(dir, path) {
			add(path, readOnly)
		}
	}
}

func isPlain(dir, path string) bool {
	for _, part := range append(parents(path), path) {
		info, err := os.Lstat(filepath.Join(dir, part))
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return false
		}
	}
	return true
}

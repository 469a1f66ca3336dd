package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// prunedFile marks a repository without objects that no series holds. A pruning looks again if the file is missing or old.
	prunedFile    = "signoff-pruned"
	prunedEvery   = 7 * 24 * time.Hour
	leftoverAge   = 24 * time.Hour // a program that has not written to its file for so long has died
	removedSuffix = ".removed"     // the end of the name of a repository that a pruning removes
	ownKeep       = "signoff\n"    // the content of a .keep file of the server
)

// repositoryNames matches the names that [Store.Repository] gives.
var repositoryNames = regexp.MustCompile("^[0-9a-f]{16}$")

// Prune removes each series for which keep returns false, the contents that only such a series holds, and each repository without a series. keep must return
// true for a series that may still take checkpoints. One server prunes at a time; this and other servers may take checkpoints meanwhile. Prune skips a
// repository in which a server takes a checkpoint at this moment: the next Prune comes back for it.
func (s *Store) Prune(ctx context.Context, keep func(ctx context.Context, series string) (bool, error)) error {
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return fmt.Errorf("checkpoint: listing the repositories: %w", err)
	}
	var all error
	for _, entry := range entries {
		if ctx.Err() != nil {
			return errors.Join(all, context.Cause(ctx))
		}
		folder := filepath.Join(s.folder, entry.Name())
		name, isRemoved := strings.CutSuffix(entry.Name(), removedSuffix)
		switch {
		case !repositoryNames.MatchString(name): // it is not a repository of the store
			err = nil
		case isRemoved:
			err = os.RemoveAll(folder)
		default:
			r := &Repository{folder: folder, runner: s.runner, store: s}
			err = (&pruning{repository: r, now: s.now()}).prune(ctx, keep)
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("checkpoint: pruning %s: %w", folder, err))
		}
	}
	s.forget()
	return all
}

// pruning prunes one repository.
type pruning struct {
	repository *Repository
	now        time.Time
}

func (p *pruning) prune(ctx context.Context, keep func(ctx context.Context, series string) (bool, error)) error {
	r := p.repository
	if _, err := os.Stat(filepath.Join(r.folder, "HEAD")); err != nil {
		return nil // a checkpoint makes it at this moment, or died while it did; then the next checkpoint goes on
	}
	kept, drop, err := p.classify(ctx, keep)
	if err != nil {
		return err
	}
	if len(drop) > 0 || len(kept) == 0 {
		if gone, err := p.removeSeries(ctx, drop); err != nil || gone || len(kept) == 0 {
			return err
		}
	}
	if err := p.removeLeftovers(); err != nil {
		return err
	}
	release, locked, err := r.tryLock(mergeFile)
	if err != nil || !locked {
		return err
	}
	defer release()
	if !p.due() {
		return nil
	}
	return p.removeObjects(ctx)
}

// classify asks keep for each series, and returns the refs of those to keep and of those to drop.
func (p *pruning) classify(ctx context.Context, keep func(ctx context.Context, series string) (bool, error)) (kept, drop []string, err error) {
	refs, err := p.repository.run(ctx, nil, "", "git", "for-each-ref", "--format=%(refname)", seriesRefs)
	if err != nil {
		return nil, nil, err
	}
	for ref := range strings.FieldsSeq(string(refs)) {
		isKept, err := keep(ctx, strings.TrimPrefix(ref, seriesRefs))
		switch {
		case err != nil:
			return nil, nil, err
		case isKept:
			kept = append(kept, ref)
		default:
			drop = append(drop, ref)
		}
	}
	return kept, drop, nil
}

// dropScript removes refs and prints those that are left.
const dropScript = `git update-ref --stdin && exec git for-each-ref '--format=%(refname)' ` + seriesRefs

// removeSeries removes refs, and the repository if it has no series any more. No server takes a checkpoint meanwhile. The next checkpoint makes the repository
// again.
func (p *pruning) removeSeries(ctx context.Context, drop []string) (gone bool, err error) {
	r := p.repository
	release, locked, err := r.tryLock(lockFile)
	if err != nil || !locked {
		return false, err
	}
	defer release()
	if len(drop) > 0 {
		if err := removeFile(filepath.Join(r.folder, prunedFile)); err != nil {
			return false, err
		}
	}
	var commands strings.Builder
	for _, ref := range append([]string{"packed-refs"}, drop...) { // a pruning that was killed here has left them
		if err := r.unlockRef(ref); err != nil {
			return false, err
		}
	}
	for _, ref := range drop {
		fmt.Fprintf(&commands, "delete %s\n", ref)
	}
	out, err := r.run(ctx, strings.NewReader(commands.String()), "", "sh", "-c", dropScript)
	if err != nil {
		return false, err
	}
	if len(bytes.TrimSpace(out)) > 0 {
		return false, nil
	}
	aside := r.folder + removedSuffix
	if err := errors.Join(os.RemoveAll(aside), os.Rename(r.folder, aside)); err != nil {
		return false, err
	}
	return true, os.RemoveAll(aside)
}

// requirePruning makes the next pruning look for the objects that a failed checkpoint has left.
func (r *Repository) requirePruning() { _ = os.Remove(filepath.Join(r.folder, prunedFile)) }

// due reports whether the repository may have objects to remove.
func (p *pruning) due() bool {
	info, err := os.Stat(filepath.Join(p.repository.folder, prunedFile))
	return err != nil || info.ModTime().Before(p.now.Add(-prunedEvery)) || p.repository.scattered()
}

// packScript writes a pack of all objects that the refs hold, beside the present packs, and prints its name.
const packScript = `exec git pack-objects -q --all --delta-base-offset objects/pack/pack </dev/null`

// removeScript packs the objects that a ref holds and that lie in no pack with a .keep, removes the other packs, and then the loose objects that no ref holds.
// No server writes to the repository meanwhile: otherwise git would remove new objects, which no ref holds yet. The hour protects new objects on a file system
// without working locks. There, fast-import has a .keep beside its pack until the ref holds it.
const removeScript = `git repack -a -d -n -q && exec git prune --expire=1.hour.ago`

// removeObjects removes the contents that no series holds. First it copies the others into a new pack, which may take long; checkpoints go on meanwhile. Then
// it takes the lock, packs the objects that are newer than that pack, and removes the rest.
func (p *pruning) removeObjects(ctx context.Context) error {
	r := p.repository
	if err := p.removeKeeps(); err != nil {
		return err
	}
	out, err := r.run(ctx, nil, "", "sh", "-c", packScript)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(string(out))
	if !isObject(name) {
		return fmt.Errorf("checkpoint: git answered %.200q", name)
	}
	kept := filepath.Join(r.folder, "objects/pack/pack-"+name+".keep")
	if err := write(kept, ownKeep); err != nil {
		return err
	}
	defer os.Remove(kept)
	removed, err := p.removeUnlessInUse(ctx)
	if err != nil || !removed {
		return err
	}
	young, err := r.run(ctx, nil, "", "git", "prune", "-n", "--expire=now")
	if err != nil || len(young) > 0 {
		return err // the next pruning comes back for them
	}
	return write(filepath.Join(r.folder, prunedFile), p.now.UTC().Format(time.RFC3339)+"\n")
}

func (p *pruning) removeUnlessInUse(ctx context.Context) (removed bool, err error) {
	release, locked, err := p.repository.tryLock(lockFile)
	if err != nil || !locked {
		return false, err
	}
	defer release()
	if err := p.removeIndex(ctx); err != nil {
		return false, err
	}
	_, err = p.repository.run(ctx, nil, "", "sh", "-c", removeScript)
	return err == nil, err
}

// removeIndex removes the index if no series has its tree or its checkpoint any more. Their objects may still be there for a while, but not all of them.
func (p *pruning) removeIndex(ctx context.Context) error {
	held, err := p.repository.run(ctx, nil, "", "git", "log", "--all", "--format=%T %H")
	if err != nil {
		return err
	}
	known, all := p.repository.loadIndex(), strings.Fields(string(held))
	if slices.Contains(all, known.tree) && (known.first == root{} || slices.Contains(all, known.first.commit)) {
		return nil
	}
	return removeFile(filepath.Join(p.repository.folder, indexFile))
}

// removeFile removes a file, which may be gone already.
func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeKeeps removes the .keep files of a pruning and of a fast-import that have died: otherwise no pruning could ever remove their packs.
func (p *pruning) removeKeeps() error {
	folder := filepath.Join(p.repository.folder, "objects/pack")
	for _, name := range namesIn(folder) {
		path := filepath.Join(folder, name)
		if filepath.Ext(name) != ".keep" {
			continue
		}
		content, err := os.ReadFile(path)
		if err == nil && string(content) != ownKeep && !p.isOld(path) {
			continue
		}
		if err := removeFile(path); err != nil {
			return err
		}
	}
	return nil
}

func (p *pruning) isOld(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.ModTime().Before(p.now.Add(-leftoverAge))
}

// leftovers match the names of temporary files. Only a program that has died leaves one for long.
var leftovers = []string{"fast_import_crash_*", "tmp_*", ".tmp-*", "*.lock", stagedFiles}

// removeLeftovers removes the temporary files of programs that have died.
func (p *pruning) removeLeftovers() error {
	return filepath.WalkDir(p.repository.folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		isLeftover := slices.ContainsFunc(leftovers, func(pattern string) bool {
			matches, _ := filepath.Match(pattern, entry.Name())
			return matches
		})
		if !isLeftover || !p.isOld(path) {
			return nil
		}
		return removeFile(path)
	})
}

package checkpoints

import (
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"signoff/internal/diff"
	"signoff/internal/domain"
	"signoff/internal/workspace/checkpoint"
)

// The bounds of a diff. It counts the files beyond them, but does not show their contents.
const (
	maxDiffFiles    = 1000     // files that it lists
	maxDiffContents = 300      // files whose content it shows
	maxDiffBytes    = 1 << 20  // bytes of one content
	maxDiffLines    = 20_000   // lines of all files together
	maxDiffTotal    = 16 << 20 // bytes of all files together
)

// Diff lists the differences of the folders of an execution between two of its checkpoints.
type Diff struct {
	From, To Point
	Folders  []FolderDiff
}

// FolderDiff lists the differences of one folder.
type FolderDiff struct {
	Path         string
	Files        []FileDiff // the first maxDiffFiles of them, by path
	ChangedPaths int        // the count of all
	Additions    int
	Deletions    int
}

// FileDiff is the difference of one path.
type FileDiff struct {
	domain.PathChange
	Hunks   []diff.Hunk
	Unified string
	Without Omission // why hunks are missing; empty: none is
}

// Omission is the reason why a diff does not show the content of a change.
type Omission string

// Omissions.
const (
	OmittedBinary Omission = "binary"   // the content is no text
	OmittedSecret Omission = "secret"   // the file may hold secrets, see [Config]
	OmittedLarge  Omission = "tooLarge" // the content, or the diff as a whole, is too large
)

// Diff compares two checkpoints of an execution. mask masks the secrets of a text.
func (s *Service) Diff(ctx context.Context, of Range, mask func(string) string) (Diff, error) {
	found := Diff{From: of.From, To: of.To, Folders: []FolderDiff{}}
	r := &reading{service: s, mask: mask, lines: maxDiffLines, bytes: maxDiffTotal, contents: maxDiffContents}
	for _, folder := range slices.Sorted(maps.Keys(of.To.Trees)) {
		from, to := of.From.Trees[folder], of.To.Trees[folder]
		if from == "" {
			from = to
		}
		one, err := r.folder(ctx, folder, from, to)
		if err != nil {
			return Diff{}, s.located(ctx, err, of.From, of.To)
		}
		found.Folders = append(found.Folders, one)
	}
	return found, nil
}

// located explains an error about checkpoints of which this store lacks one.
func (s *Service) located(ctx context.Context, err error, points ...Point) error {
	if err == nil || errors.Is(err, errBusy) || errors.Is(err, errOutdated) {
		return err
	}
	for _, point := range points {
		if !s.holds(ctx, point) {
			return s.missing(point).With(err)
		}
	}
	return err
}

// holds reports whether the store has a checkpoint. Where that cannot be found out, it has.
func (s *Service) holds(ctx context.Context, point Point) bool {
	if s.store == nil {
		return true // that is the error
	}
	for folder, tree := range point.Trees {
		repository, err := s.store.Existing(folder)
		if err != nil {
			return false
		}
		if has, err := repository.Has(ctx, tree); err == nil && !has {
			return false
		}
	}
	return true
}

// missing is the error of a checkpoint that the store does not have.
func (s *Service) missing(point Point) *domain.Error {
	if point.Host == "" || point.Host == s.host {
		return domain.Errorf(domain.CodeNoCheckpoints, "The store of checkpoints no longer has this one.")
	}
	return domain.Errorf(domain.CodeCheckpointElsewhere, "The checkpoints of this execution lie on the machine %s. SIGNOFF_CHECKPOINT_DIR names a folder that all replicas share.", point.Host)
}

// reading collects the contents of a diff within its bounds.
type reading struct {
	service  *Service
	mask     func(string) string
	lines    int   // that it may still show
	bytes    int64 // that it may still read
	contents int   // that it may still read

	secrets map[string]bool // the objects of files that may hold secrets, in the folder that it reads: no copy of them is shown
}

func (r *reading) folder(ctx context.Context, folder, from, to string) (FolderDiff, error) {
	found := FolderDiff{Path: folder, Files: []FileDiff{}}
	if from == to {
		return found, nil
	}
	if r.service.store == nil {
		return found, domain.Errorf(domain.CodeNoCheckpoints, "%s", r.service.unavailable)
	}
	repository, err := r.service.store.Existing(folder)
	if err != nil {
		return found, err
	}
	changes, err := repository.Changes(ctx, from, to)
	if err != nil {
		return found, err
	}
	found.ChangedPaths = len(changes)
	shown := changes[:min(len(changes), maxDiffFiles)]
	contents, err := r.read(ctx, repository, shown)
	if err != nil {
		return found, err
	}
	r.secrets = r.secretObjects(folder, changes, contents)
	for _, change := range changes {
		found.Additions, found.Deletions = found.Additions+change.Additions, found.Deletions+change.Deletions
	}
	for _, change := range shown {
		found.Files = append(found.Files, r.file(change, contents))
	}
	return found, nil
}

// read reads the contents of both checkpoints, as far as the bounds allow.
func (r *reading) read(ctx context.Context, repository *checkpoint.Repository, changes []checkpoint.Change) (map[string][]byte, error) {
	var objects []string
	known := map[string]bool{}
	for _, change := range changes {
		if change.Binary || change.Before.Object == change.After.Object || r.contents == 0 {
			continue
		}
		r.contents--
		for _, object := range []string{change.Before.Object, change.After.Object} {
			if object != "" && !known[object] {
				known[object], objects = true, append(objects, object)
			}
		}
	}
	contents := map[string][]byte{"": {}}
	err := repository.Contents(ctx, objects, func(object string, size int64, content io.Reader) error {
		if size > maxDiffBytes || size > r.bytes {
			return nil
		}
		r.bytes -= size
		text, err := io.ReadAll(content)
		contents[object] = text
		return err
	})
	return contents, err
}

// secretObjects returns the contents that the changes give a path which may hold secrets, or take from one.
func (r *reading) secretObjects(folder string, changes []checkpoint.Change, contents map[string][]byte) map[string]bool {
	all := map[string]bool{}
	for _, change := range changes {
		for _, path := range []string{change.From, change.Path} {
			for _, object := range []string{change.Before.Object, change.After.Object} {
				if path != "" && object != "" && r.service.secret(filepath.Join(folder, path), contents[object]) {
					all[object] = true
				}
			}
		}
	}
	return all
}

func (r *reading) file(change checkpoint.Change, contents map[string][]byte) FileDiff {
	file := FileDiff{PathChange: Described(change), Hunks: []diff.Hunk{}}
	before, hasBefore := contents[change.Before.Object]
	after, hasAfter := contents[change.After.Object]
	switch {
	case change.Binary:
		file.Without = OmittedBinary
	case change.Before.Object == change.After.Object:
	case r.secrets[change.Before.Object] || r.secrets[change.After.Object]:
		file.Without = OmittedSecret
	case !hasBefore || !hasAfter || r.lines == 0:
		file.Without = OmittedLarge
	default:
		r.compare(&file, change, before, after)
	}
	return file
}

func (r *reading) compare(file *FileDiff, change checkpoint.Change, before, after []byte) {
	compared := diff.Files([]byte(r.mask(string(before))), []byte(r.mask(string(after))), diff.Limits{Bytes: maxDiffBytes, Lines: r.lines})
	file.Hunks = append(file.Hunks, compared.Hunks...)
	for _, hunk := range compared.Hunks {
		r.lines -= min(len(hunk.Lines), r.lines)
	}
	oldName, newName := "a/"+change.Path, "b/"+change.Path
	switch {
	case change.From != "":
		oldName = "a/" + change.From
	case change.Kind == checkpoint.Added:
		oldName = diff.DevNull
	case change.Kind == checkpoint.Deleted:
		newName = diff.DevNull
	}
	file.Unified = compared.Unified(oldName, newName)
	switch {
	case compared.Binary:
		file.Without = OmittedBinary
	case compared.Truncated:
		file.Without = OmittedLarge
	}
}

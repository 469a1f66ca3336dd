package folders

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"signoff/internal/domain"
)

// Unavailable returns why this server makes no clones; empty: it makes them.
func (f *Folders) Unavailable() string { return f.noGit }

const (
	maxPointer = 4 << 10 // bytes of a file of git that names a folder
	// maxStores bounds the object stores of a repository. maxBorrowing bounds the chain of stores that borrow from each other, as git does.
	maxStores, maxBorrowing = 20, 5
)

// Repository finds the git repository in whose work tree a folder lies. The execution must be able to see all parts of the repository: .git may be a file or a
// link that leads elsewhere, and an object store may borrow from another one. Errors point at /workingDirectory.
func (f *Folders) Repository(ctx context.Context, folder string, inSight func(path string) bool) (domain.Repository, error) {
	if f.noGit != "" {
		return domain.Repository{}, domain.At("/workspace/mode", domain.Errorf(domain.CodeEnvironmentUnavailable, "There are no clones on this server. %s", f.noGit))
	}
	found := finder{inSight: inSight}
	repository, err := found.find(folder)
	if err != nil {
		return repository, domain.At("/workingDirectory", err)
	}
	printed, err := f.run(ctx, Command{
		Argv: []string{"rev-parse", "--show-object-format", "--is-shallow-repository", "HEAD^{commit}"},
		Env:  []string{"GIT_DIR=" + found.gitDir, "GIT_WORK_TREE=" + repository.GitDir}, // the configuration of a submodule names its work tree, which git does not see
		Dir:  repository.GitDir, Read: true, Shown: append(found.besides(repository), repository.Objects...),
	})
	lines := strings.Split(printed, "\n")
	if exit := (*ExitError)(nil); errors.As(err, &exit) || err == nil && (len(lines) != 3 || !commitName.MatchString(lines[2])) {
		return repository, domain.Invalid("/workingDirectory", "The HEAD of the repository %s names no commit that can be read, so there is nothing to clone.", repository.WorkTree).With(err)
	}
	if err != nil {
		return repository, err
	}
	repository.Format, repository.Shallow, repository.Commit = lines[0], lines[1] == "true", lines[2]
	return repository, nil
}

var commitName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// finder finds the parts of a repository without git. git may see the parts only after the server has checked where they lie.
type finder struct {
	inSight func(path string) bool
	gitDir  string // the git folder of the work tree, which may share branches and objects with other work trees
}

func (f *finder) find(folder string) (domain.Repository, error) {
	for ; f.inSight(folder); folder = filepath.Dir(folder) {
		marker := filepath.Join(folder, ".git")
		if _, err := os.Lstat(marker); err != nil {
			if folder == "/" {
				break
			}
			continue
		}
		var err error
		if f.gitDir, err = f.leads(marker); err != nil {
			return domain.Repository{}, err
		}
		return f.parts(folder)
	}
	return domain.Repository{}, domain.Errorf(domain.CodeInvalid, "This folder lies in the work tree of no git repository, and so it cannot be cloned.")
}

// leads returns the folder to which a .git leads. A .git is a folder, a link, or a file that names a folder.
func (f *finder) leads(marker string) (string, error) {
	info, err := os.Stat(marker)
	if err == nil && info.Mode().IsRegular() {
		named, isPointer := strings.CutPrefix(readPointer(marker), "gitdir: ")
		if !isPointer {
			return "", domain.Errorf(domain.CodeInvalid, "%s is a file that names no repository.", marker)
		}
		marker = from(filepath.Dir(marker), named)
	}
	return f.real(marker)
}

// from resolves a path relative to a folder.
func from(folder, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(folder, path)
}

// real resolves the links of a folder, and refuses a folder that the execution cannot see.
func (f *finder) real(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "open", Path: real, Err: syscall.ENOTDIR}
		}
	}
	if err != nil || !f.inSight(real) || strings.ContainsRune(real, '\n') {
		// All reasons have the same message: another one would tell a client which paths exist outside the workspace.
		return "", domain.Errorf(domain.CodeInvalid,
			"A part of the git repository of this folder does not lie in the same workspace, so the repository cannot be cloned.").With(err)
	}
	return real, nil
}

// parts finds the branches and the objects.
func (f *finder) parts(workTree string) (repository domain.Repository, err error) {
	repository.WorkTree, repository.GitDir = workTree, f.gitDir
	if shared := readPointer(filepath.Join(f.gitDir, "commondir")); shared != "" {
		if repository.GitDir, err = f.real(from(f.gitDir, shared)); err != nil {
			return repository, err
		}
	}
	repository.Objects, err = f.stores(nil, filepath.Join(repository.GitDir, "objects"), 0)
	return repository, err
}

// stores adds an object store, and the stores from which it borrows, to the known ones.
func (f *finder) stores(known []string, store string, depth int) ([]string, error) {
	real, err := f.real(store)
	if err != nil || slices.Contains(known, real) {
		return known, err
	}
	if known = append(known, real); len(known) > maxStores || depth > maxBorrowing {
		return known, domain.Errorf(domain.CodeInvalid, "The repository of this folder borrows objects over too many others, so it cannot be cloned.")
	}
	for line := range strings.Lines(readFile(filepath.Join(real, "info", "alternates"), maxPointer)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if strings.HasPrefix(line, `"`) {
			return known, domain.Errorf(domain.CodeInvalid, "The repository of this folder borrows objects from a folder with an unusual name, so it cannot be cloned.")
		}
		if known, err = f.stores(known, from(real, line), depth+1); err != nil {
			return known, err
		}
	}
	return known, nil
}

// besides returns the folders of the repository that lie outside its folder with the branches.
func (f *finder) besides(repository domain.Repository) []string {
	if relative, err := filepath.Rel(repository.GitDir, f.gitDir); err == nil && filepath.IsLocal(relative) {
		return nil
	}
	return []string{f.gitDir}
}

// readPointer reads a file with one line.
func readPointer(path string) string { return strings.TrimSpace(readFile(path, maxPointer)) }

// readFile reads a regular file; empty: there is none, or a longer one.
func readFile(path string, limit int64) string {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil || int64(len(content)) > limit {
		return ""
	}
	return string(content)
}

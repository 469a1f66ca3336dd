package folders

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"signoff/internal/domain"
)

// Fetch lists the commits and files that the clone of an execution has and the user's repository had not when the clone was made.
type Fetch struct {
	Repository  string // the work tree of the user's repository
	Branch      string
	Commit      string // the newest commit of the branch
	Base        string // the commit at which the clone began
	Existing    string // the commit of a branch of that name in the user's repository; empty: there is none
	Commits     []Commit
	CommitCount int
	Files       []FileStat
	FileCount   int

	// Uncommitted are paths of the clone that differ from its HEAD. Fetch does not fetch them.
	Uncommitted      []string
	UncommittedCount int
}

// Commit is one commit of the branch.
type Commit struct {
	ID, Author, Subject string
	Time                time.Time
}

// FileStat counts the changed lines of one file between the base and the newest commit.
type FileStat struct {
	Path                 string
	Additions, Deletions *int // nil: the file is binary
}

// maxListed bounds each list of a [Fetch].
const maxListed = 500

// PreviewFetch returns what [Folders.Fetch] would fetch.
func (f *Folders) PreviewFetch(ctx context.Context, execution domain.Execution) (Fetch, error) {
	clone, err := f.openClone(execution)
	if err != nil {
		return Fetch{}, err
	}
	found := Fetch{Repository: clone.user.WorkTree, Branch: execution.ID.Branch(), Base: clone.user.Commit}
	if _, err = f.run(ctx, clone.inUsers("cat-file", "-e", found.Base+"^{commit}")); err != nil {
		return found, conflict(err, "The repository %s no longer has the commit %s, at which the clone began. Perhaps it is another repository.", found.Repository, found.Base)
	}
	if found.Commit, err = clone.read(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+found.Branch+"^{commit}"); err != nil {
		return found, conflict(err, "The clone has no branch %s any more.", found.Branch)
	}
	found.Existing, err = f.run(ctx, clone.inUsers("rev-parse", "--verify", "--quiet", "refs/heads/"+found.Branch))
	if exit := (*ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return found, err
	}
	return found, errors.Join(clone.listCommits(ctx, &found), clone.listFiles(ctx, &found), clone.listUncommitted(ctx, &found))
}

// Fetch fetches the branch of a clone into the user's repository, under the same name, if its newest commit is the one that a preview has shown. It merges
// nothing; the user does.
func (f *Folders) Fetch(ctx context.Context, execution domain.Execution, commit string) (Fetch, error) {
	found, err := f.PreviewFetch(ctx, execution)
	switch {
	case err != nil:
		return found, err
	case found.Commit != commit:
		return found, domain.Errorf(domain.CodePreviewOutdated, "The branch %s is at %s by now, not at %s.", found.Branch, found.Commit, commit)
	case found.CommitCount == 0:
		return found, domain.Errorf(domain.CodeConflict, "The branch %s has no commits beside those of the repository.", found.Branch)
	case found.Existing == commit:
		return found, nil
	}
	clone, err := f.openClone(execution)
	if err != nil {
		return found, err
	}
	name := f.claim(makingPrefix, string(execution.ID)+"-fetch")
	defer f.release(name)
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return found, err
	}
	defer root.Close()
	if err := root.Mkdir(name, 0o700); err != nil {
		return found, err
	}
	err = clone.fetch(ctx, filepath.Join(f.base, name), found)
	found.Existing = commit
	return found, errors.Join(err, removeAll(root, name))
}

// clone is the clone of an execution, and the user's repository from which it borrows.
type clone struct {
	*Folders
	folder string
	user   domain.Repository
}

func (f *Folders) openClone(execution domain.Execution) (clone, error) {
	own := execution.Request.OwnFolder
	if own == nil || own.Repository == nil {
		return clone{}, domain.Errorf(domain.CodeConflict, "The execution has no clone of its own: its workspace is %s.", execution.Request.WorkspaceMode())
	}
	folder := f.Directory(execution.ID, domain.OwnFolder{})
	if _, err := os.Lstat(folder); err != nil {
		return clone{}, domain.Errorf(domain.CodeConflict, "The clone of the execution is not on this server: it was not made yet, or not kept, or lies on another machine.").With(err)
	}
	if f.noGit != "" {
		return clone{}, domain.Errorf(domain.CodeEnvironmentUnavailable, "%s", f.noGit)
	}
	if err := f.stillThere(*own.Repository); err != nil {
		return clone{}, conflict(err, "The repository %s is not where it was.", own.Repository.WorkTree)
	}
	return clone{f, folder, *own.Repository}, nil
}

func conflict(err error, format string, args ...any) error {
	if exit := (*ExitError)(nil); errors.As(err, &exit) || domain.CodeOf(err) == domain.CodeEnvironmentUnavailable {
		return domain.Errorf(domain.CodeConflict, format, args...).With(err)
	}
	return err
}

// read runs git in the clone, without the right to write there.
func (c clone) read(ctx context.Context, argv ...string) (string, error) {
	return c.run(ctx, Command{Argv: argv, Dir: c.folder, Read: true, Shown: c.user.Objects})
}

// inUsers returns a command of git in the user's repository. git does not see the work tree, although the configuration may name it.
func (c clone) inUsers(argv ...string) Command {
	return Command{
		Argv: argv, Env: []string{"GIT_DIR=" + c.user.GitDir, "GIT_WORK_TREE=" + c.user.GitDir}, Dir: c.user.GitDir, Read: true, Shown: c.user.Objects[1:],
	}
}

const separator = "\x1f"

func (c clone) listCommits(ctx context.Context, found *Fetch) error {
	since := found.Base + ".." + found.Commit
	count, err := c.read(ctx, "rev-list", "--count", since)
	if err != nil {
		return err
	}
	if found.CommitCount, err = strconv.Atoi(count); err != nil {
		return err
	}
	printed, err := c.read(ctx, "-c", "log.showSignature=false", "log", "--no-color", "--max-count="+strconv.Itoa(maxListed),
		"--format=%H"+separator+"%an"+separator+"%at"+separator+"%s", since)
	for line := range strings.SplitSeq(printed, "\n") {
		fields := strings.SplitN(line, separator, 4)
		if len(fields) != 4 {
			continue
		}
		at, _ := strconv.ParseInt(fields[2], 10, 64)
		found.Commits = append(found.Commits, Commit{ID: fields[0], Author: fields[1], Time: time.Unix(at, 0).UTC(), Subject: fields[3]})
	}
	return err
}

func (c clone) listFiles(ctx context.Context, found *Fetch) error {
	printed, err := c.read(ctx, "diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", found.Base, found.Commit)
	for line := range strings.SplitSeq(printed, "\x00") {
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 {
			continue
		}
		if found.FileCount++; len(found.Files) < maxListed {
			found.Files = append(found.Files, FileStat{Path: fields[2], Additions: number(fields[0]), Deletions: number(fields[1])})
		}
	}
	return err
}

// number parses a count of lines; nil: it is the - of a binary file.
func number(text string) *int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	return &n
}

func (c clone) listUncommitted(ctx context.Context, found *Fetch) error {
	printed, err := c.read(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all")
	for line := range strings.SplitSeq(printed, "\x00") {
		if len(line) < 4 {
			continue
		}
		if found.UncommittedCount++; len(found.Uncommitted) < maxListed {
			found.Uncommitted = append(found.Uncommitted, line[3:])
		}
	}
	return err
}

// fetch writes the commits into a bundle, and fetches the bundle into the user's repository. An agent that is not isolated may have changed the configuration
// of the clone. So the git that can write the user's repository does not read the clone.
func (c clone) fetch(ctx context.Context, folder string, found Fetch) error {
	err := c.bundle(ctx, filepath.Join(folder, "bundle"), found.Branch, "^"+found.Base)
	if err != nil {
		return err
	}
	command := c.inUsers("-c", "fetch.fsckObjects=true", "-c", "fetch.writeCommitGraph=false", "fetch", "--atomic", "--no-tags", "--no-write-fetch-head",
		"--no-auto-maintenance", "--no-recurse-submodules", "--no-prune", c.homeInside+"/bundle", // no plus before the refspec: it never overwrites a branch that has other commits
		"refs/heads/"+found.Branch+":refs/heads/"+found.Branch)
	command.Read, command.Home = false, folder
	_, err = c.run(ctx, command)
	if exit := (*ExitError)(nil); errors.As(err, &exit) {
		return domain.Errorf(domain.CodeConflict, "The branch could not be fetched. git says: %s", exit.Stderr).With(err)
	}
	return err
}

// bundle writes a branch of the clone into a file.
func (c clone) bundle(ctx context.Context, path string, branch string, without string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	argv := append(append([]string{"git"}, withoutPrograms...), "bundle", "create", "--quiet", "-", "refs/heads/"+branch, without)
	return c.git.Run(ctx, Command{Argv: argv, Env: gitEnvironment, Dir: c.folder, Read: true, Shown: c.user.Objects}, nil, file)
}

package folders

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"signoff/internal/domain"
)

// cloneInto makes a clone of a user's repository in a new folder. It copies no object: the object store of the clone borrows from the stores of the user's
// repository. The server writes the configuration of the clone, so no filter runs, and there are no hooks.
func (f *Folders) cloneInto(ctx context.Context, folder string, id domain.ExecutionID, own domain.OwnFolder) error {
	repository := *own.Repository
	if err := f.stillThere(repository); err != nil {
		return err
	}
	git := func(argv ...string) error {
		_, err := f.run(ctx, Command{Argv: argv, Dir: folder, Shown: repository.Objects})
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := git("init", "--quiet", "--template=", "--object-format="+repository.Format, "--initial-branch="+id.Branch(), "."); err != nil {
		return notCloned(err)
	}
	if err := f.borrow(root, id, repository); err != nil {
		return err
	}
	if err := git("update-ref", "refs/heads/"+id.Branch(), repository.Commit); err != nil {
		return notCloned(err)
	}
	if err := git("reset", "--quiet", "--hard", "--no-recurse-submodules"); err != nil {
		return notCloned(err)
	}
	return makeWithin(root, folder, own)
}

// stillThere makes sure that the object stores are where they were when the request was admitted.
func (f *Folders) stillThere(repository domain.Repository) error {
	for _, store := range append([]string{repository.GitDir}, repository.Objects...) {
		if real, err := filepath.EvalSymlinks(store); err != nil || real != store {
			return domain.Errorf(domain.CodeEnvironmentUnavailable, "The repository %s has moved since the execution was created, so it cannot be cloned.", repository.WorkTree).With(err)
		}
	}
	return nil
}

// shallowLines matches the file of a shallow repository. It lists the commits whose parents are missing.
var shallowLines = regexp.MustCompile(`^(?:(?:[0-9a-f]{40}|[0-9a-f]{64})\n)*$`)

// borrow makes a new repository borrow from the user's repository, and sets the author of commits: without one, git refuses a commit in the clone.
func (f *Folders) borrow(root *os.Root, id domain.ExecutionID, repository domain.Repository) error {
	config, err := root.ReadFile(".git/config")
	if err != nil {
		return err
	}
	config = append(config, "[user]\n\tname = Signoff\n\temail = "+string(id)+"@signoff.invalid\n"...)
	err = errors.Join(
		root.WriteFile(".git/config", config, 0o600),
		root.MkdirAll(".git/objects/info", 0o700),
		root.WriteFile(".git/objects/info/alternates", []byte(repository.Objects[0]+"\n"), 0o600),
	)
	if err != nil || !repository.Shallow {
		return err
	}
	shallow := readFile(filepath.Join(repository.GitDir, "shallow"), 1<<20)
	if !shallowLines.MatchString(shallow) {
		return domain.Errorf(domain.CodeEnvironmentUnavailable, "The repository %s is shallow in a way that cannot be cloned.", repository.WorkTree)
	}
	return root.WriteFile(".git/shallow", []byte(shallow), 0o600)
}

// makeWithin makes the working directory if it is a folder of the work tree that the commit does not have.
func makeWithin(root *os.Root, folder string, own domain.OwnFolder) error {
	within := within(own)
	if within == "." {
		return nil
	}
	err := root.MkdirAll(within, 0o777)
	real, evalErr := filepath.EvalSymlinks(filepath.Join(folder, within))
	if err != nil || evalErr != nil || real != filepath.Join(folder, within) {
		return domain.Errorf(domain.CodeEnvironmentUnavailable, "In the commit %s, %s is no folder, so the execution cannot work there.", own.Repository.Commit, within).
			With(errors.Join(err, evalErr))
	}
	return nil
}

// within returns the working directory relative to the own folder.
func within(own domain.OwnFolder) string {
	if own.Repository == nil {
		return "."
	}
	relative, err := filepath.Rel(own.Repository.WorkTree, own.From)
	if err != nil || !filepath.IsLocal(relative) {
		return "."
	}
	return relative
}

// notCloned makes an error for people from the message of git.
func notCloned(err error) error {
	if exit := (*ExitError)(nil); errors.As(err, &exit) {
		return domain.Errorf(domain.CodeEnvironmentUnavailable, "The repository could not be cloned. git says: %s", exit.Stderr).With(err)
	}
	return err
}

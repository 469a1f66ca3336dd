package sandbox

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// Run runs command and copies its stdout and stderr, in their order, to output as they come. It returns when
// the command and all its descendants are dead, which is at most about two seconds after command.Timeout or the end of
// ctx. The end of ctx is an error, its cause; the end of the timeout is a result with TimedOut set.
//
// The command's environment is PATH, HOME, TMPDIR, LANG and TERM of the sandbox's, and command.Env on top: an entry of it
// takes the place of the sandbox's own, PATH included, and of two entries with one name the later counts.
//
// A program that does not exist is a result with exit code 127, one that cannot be executed 126, and output says so,
// as a shell does it. Other errors than the end of ctx say how far the command came: [domain.CodeNotStarted] means for
// certain that nothing of it has run, so that it may be tried again, and [domain.CodeToolFailed] that it may have run in part.
//
// So many commands and processes start at once as there are processors; the others wait for that, and their time does not
// run meanwhile. A command that has not begun a minute after its turn came is given up.
//
// A Write that blocks does not hold up the killing. Where one is still blocked two seconds after, Run returns without
// it, and no other begins.
func (s *Sandbox) Run(ctx context.Context, command domain.Command, output io.Writer) (domain.CommandResult, error) {
	if s.kind == KindNone && command.Environment.View != domain.ViewHost {
		return domain.CommandResult{}, s.refusal()
	}
	if ctx.Err() != nil {
		return domain.CommandResult{}, context.Cause(ctx)
	}
	plan, err := s.plan(command)
	if err != nil {
		return domain.CommandResult{}, err
	}
	defer closeFiles(plan.Files)
	return plan.run(ctx, command.Timeout, output)
}

func (s *Sandbox) refusal() *domain.Error {
	return domain.Errorf(domain.CodeSandboxUnavailable, "Commands are not run, because nothing here can confine them. "+
		"Install bubblewrap, or allow unprivileged user namespaces, or define an environment with isolation: none to run them without "+
		"isolation; `signoff doctor` shows what was tried.")
}

func (s *Sandbox) plan(command domain.Command) (plan, error) { return s.planWith(command, Process{}) }

// planWith plans a command with what a process has besides: a home, and places that are served.
func (s *Sandbox) planWith(command domain.Command, process Process) (plan, error) {
	if command.Environment.View == domain.ViewHost {
		return s.planHost(command)
	}
	if command.Environment.Name != "" && !s.method.isolates() { // an execution that is older than environments runs as it did
		return plan{}, unavailableHere(command.Environment, s.Offers(command.Environment, command.Dir))
	}
	dir, err := workspace(command.Dir)
	if err != nil {
		return plan{}, err
	}
	if err := wellFormed(command.Argv); err != nil {
		return plan{}, err
	}
	if err := environs(command.Env); err != nil {
		return plan{}, err
	}
	access := Access{Hosts: command.Hosts, Networks: command.Environment.Networks, Lasting: process.Argv != nil, Serve: process.Serve}
	if command.Environment.Processes == domain.ProcessesHost {
		access.Processes = processRelay
	}
	proxy, err := s.config.proxyTo(access)
	if err != nil {
		return plan{}, err
	}
	folder, err := identify(dir)
	if err != nil {
		return plan{}, domain.Errorf(domain.CodeToolFailed, "The working directory cannot be opened.").With(err)
	}
	guards, view, err := s.guards(dir, command)
	if err != nil {
		return plan{}, err
	}
	if err := s.furnish(&view, dir, process); err != nil {
		return plan{}, err
	}
	owner, err := view.settle(dir, command.Environment)
	if err != nil {
		return plan{}, unavailableHere(command.Environment, err)
	}
	watched, err := s.watched(dir, folder, view)
	if err != nil {
		return plan{}, err
	}
	online := proxy != nil && s.method.isolates()
	var relays []relayPlace
	if online {
		if relays, err = placesOf(proxy.Relays()); err != nil {
			return plan{}, err
		}
	}
	lent, err := s.lend(command.Environment)
	if err != nil {
		return plan{}, err
	}
	files, err := view.openFiles(lent, relays)
	if err != nil {
		return plan{}, err
	}
	return plan{
		View: view, Owner: owner, Files: files,
		Method: s.method, Dir: dir, Folder: folder, Guards: guards, Watched: watched, Tools: s.tools, Argv: command.Argv,
		Env: append(view.variables(), command.Env...), Landlock: landlockABI(), Memory: s.memory,
		Online: online, Relays: relays, Proxy: proxy, Lease: s.lease,
		Starts: s.starts, StartLimit: cmp.Or(s.startLimit, startLimit), Spawned: s.spawned,
	}, nil
}

// wellFormed refuses arguments that would not arrive as they were shown: JSON would replace bytes that are not UTF-8.
func wellFormed(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return domain.Errorf(domain.CodeInvalidArguments, "The command is empty.")
	}
	for _, arg := range argv {
		if !isText(arg) {
			return domain.Errorf(domain.CodeInvalidArguments, "The command contains bytes that are not text.")
		}
	}
	return nil
}

// environs refuses entries that would not arrive unchanged. It quotes nothing: an entry may be a secret.
func environs(env []string) error {
	for i, entry := range env {
		name, _, isPair := strings.Cut(entry, "=")
		if !isPair || name == "" || !isText(entry) {
			return domain.Errorf(domain.CodeInvalidArguments,
				"Entry %d of the environment is not NAME=value, or not text.", i+1)
		}
	}
	return nil
}

// proxyTo returns none where no host is granted.
func (c Config) proxyTo(to Access) (Proxy, error) {
	switch {
	case len(to.Hosts) == 0 && len(to.Networks) == 0 && to.Processes == "" && len(to.Serve) == 0:
		return nil, nil //nolint:nilnil // a command without network is the ordinary case
	case c.Network == nil:
		return nil, domain.Errorf(domain.CodeSandboxUnavailable, "Commands are given no network here.")
	}
	return c.Network(to)
}

// CheckWorkspace reports whether commands may run in a folder, which is absolute and has no links in it.
func CheckWorkspace(dir string) error {
	_, err := workspace(dir)
	return err
}

// workspace resolves dir and refuses folders that cannot be a workspace: they would open protected folders.
func workspace(dir string) (string, error) {
	if !filepath.IsAbs(dir) || !utf8.ValidString(dir) {
		return "", domain.Errorf(domain.CodeInvalidArguments, "The working directory %q is not an absolute path.", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", domain.Errorf(domain.CodeToolFailed, "The working directory cannot be opened.").With(err)
	}
	if real != filepath.Clean(dir) { // a person has approved a command in dir, and not where a link leads now
		return "", domain.Errorf(domain.CodePathOutsideWorkspace, "The working directory was replaced by a link.")
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", domain.Errorf(domain.CodeToolFailed, "The working directory is not a folder.").With(err)
	}
	if real == "/tmp" || real == "/" || isSystem(real) {
		return "", domain.Errorf(domain.CodeInvalidArguments, "The folder %s of the system cannot be a workspace.", real)
	}
	return real, nil
}

// guards lists the mounts inside the workspace, parents first, so that what is built later lies on top.
func (s *Sandbox) guards(dir string, command domain.Command) ([]guard, view, error) {
	var all guards
	seen, err := s.viewOf(dir, command.Environment, &all)
	if err != nil {
		return nil, seen, err
	}
	for _, path := range s.config.ReadOnly {
		if err := protect(dir, path, readOnly, all.add); err != nil {
			return nil, seen, err
		}
	}
	protectGit(dir, all.add)
	protectTrusted(dir, all.add)
	for _, path := range slices.Concat(s.config.Hidden, command.Environment.Hidden) {
		if err := protect(dir, path, hidden, all.add); err != nil {
			return nil, seen, err
		}
	}
	for _, one := range command.Denied {
		if err := s.deny(dir, seen, one, &all); err != nil {
			return nil, seen, err
		}
	}
	return all.needed(), seen, nil
}

// protect guards path where it lies strictly inside dir and exists. A symlink on the way is refused: somebody put it there
// after the server started, and it leads elsewhere.
func protect(dir, path string, as guardKind, add func(string, guardKind)) error {
	relative, err := filepath.Rel(dir, path)
	if err != nil || relative == "." || !filepath.IsLocal(relative) {
		return nil //nolint:nilerr // a path that has no place relative to dir does not lie in it
	}
	for _, part := range append(parents(relative), relative) {
		info, err := os.Lstat(filepath.Join(dir, part))
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || info.Mode()&os.ModeSymlink != 0 {
			return domain.Errorf(domain.CodeSandboxUnavailable,
				"A protected folder inside the workspace was replaced by a link, so commands are not run.").With(err)
		}
	}
	add(relative, as)
	return nil
}

// protectGit keeps a command from leaving code behind that git runs later, outside. A .git that is a file, as in a
// linked worktree, names the folder with the hooks, so it is read-only itself.
func protectGit(dir string, add func(string, guardKind)) {
	info, err := os.Lstat(filepath.Join(dir, ".git"))
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		add(".git", readOnly)
	case info.IsDir():
		for _, name := range gitParts {
			path := filepath.Join(".git", name)
			if info, err := os.Lstat(filepath.Join(dir, path)); err == nil && info.Mode()&os.ModeSymlink == 0 {
				add(path, readOnly)
			}
		}
	}
}

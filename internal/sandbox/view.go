package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// view is what an environment shows a command beside its workspace and the programs of the system.
type view struct {
	Shown    []shown  `json:",omitempty"` // outer paths first
	Copied   []copied `json:",omitempty"` // files that the command finds a copy of; their descriptors come in this order
	User     *account `json:",omitempty"` // that the command runs as; nil: the server's own
	Owners   []owner  `json:",omitempty"` // of writable folders that belong to others; see [plan.mapped]
	Programs []string `json:",omitempty"` // names in ProgramFolder under which this binary is found
	Private  bool     // no local sockets: a read-only mount does not stop connect
}

// lentFolder has what a command finds besides the machine: copies of lent files, and programs.
const lentFolder = "/run/signoff"

// ProgramFolder has programs of Signoff's own, which are this binary. Nobody inside can write it.
const ProgramFolder = lentFolder + "/bin"

// OwnProgram is this binary, as the program of a [Process] in an environment.
const OwnProgram = ProgramFolder + "/signoff"

// programsFor are those that show the processes of the host.
func programsFor(e domain.Environment) []string {
	if e.Processes == domain.ProcessesHost {
		return []string{"pgrep", "ps", "top"}
	}
	return nil
}

// ProcessHome is where an isolated process finds its home, wherever that lies on the machine.
const ProcessHome = lentFolder + "/home"

// shown is a file or folder of the machine, at its own path or at another one.
type shown struct {
	Path   string
	Target string `json:",omitempty"` // where the command finds it; empty: at its own path
	Write  bool
	Owner  int // index in the view's Owners, plus one; 0: the folder is as it is
}

// target is where the command finds it.
func (s shown) target() string { return cmp.Or(s.Target, s.Path) }

// account is a user of the machine.
type account struct {
	Name     string
	UID, GID int
	Groups   []uint32 `json:",omitempty"`
	Home     string   `json:",omitempty"`
}

// owner is to whom a folder belongs.
type owner struct{ UID, GID int }

// viewOf returns the view of an environment for a command in dir, and adds guards for the parts of it that stay hidden or cannot be written.
func (s *Sandbox) viewOf(dir string, e domain.Environment, all *guards) (view, error) {
	if e.ReadOnly {
		all.add(".", readOnly)
	}
	var v view
	if e.ShowsMore() {
		v = view{Private: true, Shown: shownBy(e), Programs: programsFor(e)}
	}
	if err := v.checkMounts(); err != nil {
		return v, err
	}
	v.guardMounts(dir, all)
	hiding, err := s.hiddenFrom(e, v)
	if err != nil {
		return v, err
	}
	inMount := slices.ContainsFunc(e.Mounts, func(m domain.Mount) bool { return within(m.Path, dir) })
	for _, path := range hiding {
		switch {
		case within(dir, path) && dir != path: // what looks like a secret in a workspace belongs to the execution; see [protect] for the rest
			if inside, err := filepath.Rel(dir, path); inMount && err == nil {
				all.add(inside, hidden)
			}
		case v.inSight(path) && within(path, dir):
			return v, domain.Errorf(domain.CodeEnvironmentUnavailable,
				"The working directory %s lies in %s, which the environment %s hides.", dir, path, e.Name)
		case v.inSight(path):
			all.addFor(v, guard{path, hidden})
		}
	}
	return v, s.showClone(&v, dir, e, all)
}

// shownBy lists what an environment shows beside the workspace and the programs of the system, outer paths first.
func shownBy(e domain.Environment) []shown {
	var all []shown
	if e.View == domain.ViewMachine {
		for _, folder := range MachineFolders {
			if info, err := os.Lstat(folder); err == nil && info.IsDir() {
				all = append(all, shown{Path: folder})
			}
		}
	}
	for _, mount := range e.Mounts {
		all = append(all, shown{Path: mount.Path, Write: mount.Access == domain.AccessWrite})
	}
	slices.SortStableFunc(all, func(a, b shown) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// guardMounts keeps a mount of the workspace's own files from being written where it is for reading, and guards what programs outside obey
// in a mount that is written, as in the workspace.
func (v view) guardMounts(dir string, all *guards) {
	for _, one := range v.Shown {
		if relative, err := filepath.Rel(dir, one.Path); !one.Write && err == nil && relative != "." && filepath.IsLocal(relative) {
			all.add(relative, readOnly)
		}
		if one.Write {
			add := func(path string, as guardKind) { all.addIn(one.Path, path, as) }
			protectGit(one.Path, add)
			protectTrusted(one.Path, add)
		}
	}
}

// furnish adds what a process in dir has inside beside the environment.
func (s *Sandbox) furnish(v *view, dir string, process Process) error {
	for _, file := range process.Shown {
		if slices.ContainsFunc(s.ownHidden(process.Environment), func(path string) bool { return within(path, file) }) {
			return domain.Errorf(domain.CodeAgentUnavailable, "%s is hidden from every program, or lies in a folder that is.", file)
		}
		if within(dir, file) || v.inSight(file) {
			continue
		}
		info, err := os.Lstat(file)
		if real := resolved(file); err != nil || real != file || !info.Mode().IsRegular() {
			return domain.Errorf(domain.CodeAgentUnavailable, "%s is not a file any more, or is reached by a link.", file).With(err)
		}
		v.Shown = append(v.Shown, shown{Path: file})
	}
	if len(process.Argv) > 0 && process.Argv[0] == OwnProgram || len(process.Serve) > 0 {
		v.Programs = append(v.Programs, filepath.Base(OwnProgram))
	}
	if process.Home == "" {
		return nil
	}
	home, err := filepath.EvalSymlinks(process.Home)
	if err != nil {
		return domain.Errorf(domain.CodeAgentUnavailable, "The home of the process cannot be opened.").With(err)
	}
	v.Shown = append(v.Shown, shown{Path: home, Target: ProcessHome, Write: true})
	return nil
}

// checkMounts makes sure that each mount is still what the operator has named: a link in its place would lead elsewhere.
func (v view) checkMounts() error {
	for _, one := range v.Shown {
		if real, err := filepath.EvalSymlinks(one.Path); err != nil || real != one.Path {
			return domain.Errorf(domain.CodeEnvironmentUnavailable,
				"The environment shows %s, which is not there any more, or is reached by a link.", one.Path).With(err)
		}
	}
	return nil
}

// hiddenFrom lists the existing files and folders that an environment never shows, by all names that they have in it.
func (s *Sandbox) hiddenFrom(e domain.Environment, v view) ([]string, error) {
	if len(v.Shown) == 0 {
		return s.ownHidden(e), nil
	}
	all := s.hiddenIn(e)
	keys, err := s.keys.in(v.Shown)
	if err != nil {
		return nil, err
	}
	mounts, err := mountsOfMachine()
	if err != nil {
		return nil, fmt.Errorf("sandbox: looking at the mounts of this machine: %w", err)
	}
	for _, path := range all {
		all = append(all, mounts.otherNames(path)...)
	}
	return slices.Concat(all, keys, mounts.ofTheKernel()), nil
}

// hiddenIn lists the existing files and folders that an environment never shows, by their real paths. The operator's word counts more than the table:
// a mount shows what it names.
func (s *Sandbox) hiddenIn(e domain.Environment) []string {
	var secrets []string
	for _, secret := range SecretFiles {
		found, err := filepath.Glob(secret.Pattern)
		if err == nil { // the patterns are well-formed: a test reads them all
			secrets = append(secrets, found...)
		}
	}
	secrets = slices.DeleteFunc(realPaths(secrets), func(path string) bool {
		return slices.ContainsFunc(e.Mounts, func(m domain.Mount) bool { return within(path, m.Path) })
	})
	return append(secrets, s.ownHidden(e)...)
}

// ownHidden are the server's own data and configuration, and what the operator hides.
func (s *Sandbox) ownHidden(e domain.Environment) []string {
	return realPaths(slices.Concat(e.Hidden, s.config.Hidden, s.config.Covered))
}

// realPaths are those of what exists, without links.
func realPaths(paths []string) []string {
	var all []string
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			all = append(all, real)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// shows reports whether path lies in what the view shows beside the system.
func (v view) shows(path string) bool {
	return slices.ContainsFunc(v.Shown, func(one shown) bool { return within(one.target(), path) })
}

// inSight reports whether path lies in what the view shows, the system's programs and settings included.
func (v view) inSight(path string) bool {
	holds := func(one string) bool { return within(one, path) }
	return v.shows(path) || slices.ContainsFunc(systemFolders, holds) || slices.ContainsFunc(systemFiles, holds)
}

// systemPaths are the files and folders of the system that no mount of the view holds already.
func (v view) systemPaths(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), v.shows)
}

// Shows reports whether a program of the machine is there in the environment, at its own path. What the workspace holds does not count.
func (s *Sandbox) Shows(e domain.Environment, program string) bool {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return false
	}
	there := slices.Concat(systemFolders, systemFiles)
	if e.View == domain.ViewMachine {
		there = append(there, MachineFolders...)
	}
	for _, mount := range e.Mounts {
		there = append(there, mount.Path)
	}
	lies := func(path string) func(string) bool { return func(folder string) bool { return within(folder, path) } }
	return slices.ContainsFunc(there, lies(program)) && slices.ContainsFunc(there, lies(real)) && !slices.ContainsFunc(s.hiddenIn(e), lies(real))
}

// relayPlace is where a host of a network is found inside.
type relayPlace struct {
	Host    string
	Port    uint16
	Address [4]byte // on the loopback
}

package sandbox

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"signoff/internal/domain"
)

// A command in a host environment runs without isolation, as the user that the operator names, below a supervisor as everything does. It gets no
// PID namespace: systemctl, journalctl and ps are to see the machine's processes.

// planHost plans a command that runs without isolation.
func (s *Sandbox) planHost(command domain.Command) (plan, error) {
	e := command.Environment
	if err := errors.Join(wellFormed(command.Argv), environs(command.Env)); err != nil {
		return plan{}, err
	}
	if info, err := os.Stat(command.Dir); err != nil || !info.IsDir() || !filepath.IsAbs(command.Dir) {
		return plan{}, domain.Errorf(domain.CodeToolFailed, "The working directory cannot be opened.").With(err)
	}
	folder, err := identify(command.Dir)
	if err != nil {
		return plan{}, domain.Errorf(domain.CodeToolFailed, "The working directory cannot be opened.").With(err)
	}
	user, err := hostAccount(e)
	if err != nil {
		return plan{}, unavailableHere(e, err)
	}
	if _, err := s.lend(e); err != nil { // the command reads them at their own paths
		return plan{}, err
	}
	var v view
	files, err := v.openFiles(nil, nil)
	if err != nil {
		return plan{}, err
	}
	v.User = user
	return plan{
		Method: bySubreaper, Dir: command.Dir, Folder: folder, Tools: s.tools, Argv: command.Argv, Env: append(s.hostEnvironment(e, user), command.Env...),
		View: v, Files: files, Memory: s.memory, Lease: s.lease, Starts: s.starts, StartLimit: cmp.Or(s.startLimit, startLimit), Spawned: s.spawned,
	}, nil
}

// hostEnvironment is the environment of a command on the host: that of its user, the server's variables that the operator names, and the lent files.
func (s *Sandbox) hostEnvironment(e domain.Environment, user *account) []string {
	var all []string
	if user != nil {
		all = append(all, "HOME="+user.Home, "USER="+user.Name, "LOGNAME="+user.Name)
	}
	for _, name := range e.Variables {
		if value, set := s.config.Lookup(name); set {
			all = append(all, name+"="+value)
		}
	}
	for variable, path := range e.Files {
		all = append(all, variable+"="+path)
	}
	return all
}

// Offers reports whether this machine can give an environment to commands in dir, and otherwise why not, in a sentence for people.
func (s *Sandbox) Offers(e domain.Environment, dir string) error {
	if e.View == domain.ViewHost {
		_, accountErr := hostAccount(e)
		_, lentErr := s.lend(e)
		return errors.Join(accountErr, lentErr)
	}
	if !s.method.isolates() {
		if s.kind == KindOff {
			return errors.New("SIGNOFF_SANDBOX=off switches isolation off. Define an environment with isolation: none in signoff.yaml, which says so by name; `signoff doctor` prints the lines")
		}
		return errors.New(s.refusal().Message)
	}
	if !e.ShowsMore() {
		return nil
	}
	if err := CheckWorkspace(dir); err != nil {
		return err
	}
	var unused guards
	v, err := s.viewOf(dir, e, &unused)
	if err == nil {
		_, err = v.settle(dir, e)
	}
	if err == nil {
		_, err = s.lend(e)
	}
	return err
}

func unavailableHere(e domain.Environment, err error) error {
	return domain.Errorf(domain.CodeEnvironmentUnavailable, "The environment %s cannot be had here: %s", e.Name, reason(err)).With(err)
}

// planOnHost plans a process that runs without isolation, as the user of a host environment.
func (s *Sandbox) planOnHost(process Process) (plan, error) {
	argv := process.Argv
	if argv[0] == OwnProgram {
		binary, err := os.Executable()
		if err != nil {
			return plan{}, err
		}
		argv = append([]string{binary}, argv[1:]...)
	}
	p, err := s.planHost(domain.Command{Argv: argv, Dir: process.Dir, Env: process.Env, Environment: process.Environment})
	p.Process, p.Folder = true, identity{}
	return p, err
}

package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"signoff/internal/domain"
)

// Start starts process, and returns when the program runs. It is isolated only in an environment, whatever the kind of the sandbox. A program
// that cannot be run is a [domain.CodeAgentUnavailable] that names it and says why.
//
// The end of ctx ends the starting, and nothing later: from then on, the child lives until its own exit or Kill. When
// Start returns an error, nothing is left of the process.
func (s *Sandbox) Start(ctx context.Context, process Process) (*Child, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	plan, err := s.planProcess(process)
	if err != nil {
		return nil, err
	}
	defer closeFiles(plan.Files)
	return plan.startProcess(ctx)
}

// planProcess checks the folder and the program here: the exec has the same error for a missing folder and a missing
// program.
func (s *Sandbox) planProcess(process Process) (plan, error) {
	if s.processes == "" {
		return plan{}, unavailable(errors.New(s.detailOf(KindOff)))
	}
	if err := wellFormed(process.Argv); err != nil {
		return plan{}, err
	}
	if err := environs(process.Env); err != nil {
		return plan{}, err
	}
	for _, path := range []string{process.Argv[0], process.Dir} {
		if !filepath.IsAbs(path) || !isText(path) {
			return plan{}, domain.Errorf(domain.CodeInvalidArguments, "%q is not an absolute path.", path)
		}
	}
	info, err := os.Stat(process.Dir)
	if err != nil {
		return plan{}, unavailable(err)
	}
	if !info.IsDir() {
		return plan{}, domain.Errorf(domain.CodeAgentUnavailable, "The program cannot start in %s: not a folder.", process.Dir)
	}
	if process.Environment.Isolated() {
		return s.planIsolated(process)
	}
	if process.Environment.View == domain.ViewHost {
		return s.planOnHost(process)
	}
	return plan{
		Method: s.processes, Dir: process.Dir, Argv: process.Argv, Env: process.Env, Process: true, Lease: s.lease,
		Starts: s.starts,
	}, nil
}

// planIsolated plans a process that is isolated as a command is. The limits of commands do not hold for it: it lives for hours.
func (s *Sandbox) planIsolated(process Process) (plan, error) {
	p, err := s.planWith(domain.Command{Argv: process.Argv, Dir: process.Dir, Hosts: process.Hosts, Environment: process.Environment}, process)
	if err != nil {
		return plan{}, err
	}
	p.Process, p.Start, p.Folder, p.Watched = true, process.Start, identity{}, nil
	p.Env = slices.Concat(p.stageEnvironment(), process.Env, p.View.variables()) // nothing names another file than the one that is lent
	return p, nil
}

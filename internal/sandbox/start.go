package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"signoff/internal/domain"
)

// Start starts process without isolation, whatever the kind of the sandbox, and returns when the program runs. A program
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
		return plan{}, domain.Errorf(domain.CodeAgentUnavailable, "The agent cannot start in %s: not a folder.", process.Dir)
	}
	return plan{
		Method: s.processes, Dir: process.Dir, Argv: process.Argv, Env: process.Env, Process: true, Lease: s.lease,
		Starts: s.starts,
	}, nil
}

package program

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/sandbox/stdio"
	"signoff/internal/secrets"
)

// Environments is the catalog of the operator's environments.
type Environments interface {
	Choose(choice domain.EnvironmentChoice) (domain.Environment, error)
	All() []domain.EnvironmentInfo
	// Mounts checks mounts beside those of an environment; at is the place that has the field mounts.
	Mounts(at string, mounts map[string]string) ([]domain.Mount, error)
}

// Config says what programs there are, and where they run.
type Config struct {
	Servers      *mcp.Catalog
	Environments Environments
	Sandbox      *sandbox.Sandbox
	Lookup       launch.Lookup   // Signoff's own environment
	Masker       *secrets.Masker // of Signoff's secrets; nil: there are none
	Workspaces   []string        // folders in which executions work, without links
}

// Programs starts the programs of MCP servers. Its methods may be called by several goroutines at once.
type Programs struct {
	config Config
	mounts map[string][]domain.Mount // by the name of the server
}

var _ mcp.Programs = (*Programs)(nil)

// New checks the isolation of all servers. Its errors point at their places in the operator's file.
func New(config Config) (*Programs, error) {
	p := &Programs{config: config, mounts: map[string][]domain.Mount{}}
	servers := config.Servers.All()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if err := p.check(name, servers[name]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Programs) check(name string, server mcp.Server) (err error) {
	at := domain.Pointer("mcpServers", name)
	if p.mounts[name], err = p.config.Environments.Mounts(at, server.Mounts); err != nil || server.Environment == "" {
		return err
	}
	all := p.config.Environments.All()
	found := slices.IndexFunc(all, func(e domain.EnvironmentInfo) bool { return e.Name == server.Environment })
	if found < 0 {
		var names []string
		for _, e := range all {
			names = append(names, e.Name)
		}
		return domain.Invalid(at+"/environment", "There is no environment %q; %s", server.Environment, launch.ListNames(names))
	}
	if all[found].View == domain.ViewHost {
		for field, written := range map[string]bool{"mounts": server.Mounts != nil, "hosts": server.Hosts != nil} {
			if written {
				return domain.Invalid(at+"/"+field, "Without isolation a program sees and reaches everything that its user may; leave %s out, or choose an environment with isolation.", field)
			}
		}
	}
	return nil
}

// Start implements [mcp.Programs].
func (p *Programs) Start(ctx context.Context, name string, server mcp.Server, use mcp.Use) (mcp.Program, error) {
	process, err := p.process(name, server, use)
	if err != nil {
		return nil, unavailable(err)
	}
	child, err := p.config.Sandbox.Start(ctx, process)
	if err != nil {
		return nil, unavailable(err)
	}
	attended := stdio.Attend(child, fmt.Sprintf("The program of the MCP server %q", name), nil)
	return &program{Program: attended, masks: []*secrets.Masker{p.masker(server), p.config.Masker}}, nil
}

// unavailable says in an error that its program cannot be started; the session names the server. The end of the context stays what it is.
func unavailable(err error) error {
	code := domain.CodeOf(err)
	if code == "" || code == domain.CodeInternal {
		return err
	}
	return domain.Errorf(code, "Its program cannot be started. %s", domain.FailureOf(err).Message).With(err)
}

// masker hides what the program is given by name: it may print it.
func (p *Programs) masker(server mcp.Server) *secrets.Masker {
	return secrets.NewMasker(slices.Collect(maps.Values(launch.PassOn(p.config.Lookup, server.Variables())))...)
}

// process gathers what the program is started with.
func (p *Programs) process(name string, server mcp.Server, use mcp.Use) (sandbox.Process, error) {
	e, err := p.environment(server, use)
	if err != nil {
		return sandbox.Process{}, err
	}
	if err := keepsSecrets(server, e, use.Environment); err != nil {
		return sandbox.Process{}, err
	}
	e.Clone = use.Environment.Clone
	endpoint, err := p.config.Servers.Endpoint(name, server)
	if err != nil {
		return sandbox.Process{}, err
	}
	writers := p.writers(use)
	start := ownFolder
	if e.View == domain.ViewHost {
		start = "/" // a folder that no agent writes
	}
	found, err := search(writers, endpoint, start, p.mounts[name])
	if err != nil {
		return sandbox.Process{}, err
	}
	process := sandbox.Process{Argv: append([]string{endpoint.Command}, endpoint.Args...), Dir: use.Directory, Environment: e}
	if e.View == domain.ViewHost {
		process.Dir = start
	} else {
		process.Start, process.Hosts, process.Shown = start, server.Hosts, found.files
		process.Environment.Mounts = merged(e.Mounts, p.mounts[name], p.unseen(e, use.Directory, found.folders))
		for i := range process.Argv {
			process.Argv[i] = p.named(process.Environment, use.Directory, process.Argv[i])
		}
	}
	env := launch.VariablesInside(p.config.Lookup, func(path string) bool {
		return e.View == domain.ViewHost || p.config.Sandbox.Shows(process.Environment, path)
	})
	if path, set := env["PATH"]; set {
		env["PATH"] = writers.without(path)
	}
	maps.Copy(env, endpoint.Env)
	process.Env = launch.Lines(env)
	return process, nil
}

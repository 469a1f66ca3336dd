package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"signoff/internal/domain"
	"signoff/internal/egress"
	"signoff/internal/environments"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/sandbox/proxy"
	"signoff/internal/secrets"
)

// TestMain serves the stages of the sandbox, as main does.
func TestMain(m *testing.M) {
	sandbox.Intercept()
	goleak.VerifyTestMain(m)
}

// rig is a server's configuration, an execution in a workspace, and what programs were given of the network.
type rig struct {
	t         testing.TB
	sandbox   *sandbox.Sandbox
	catalog   environmentsOfTest
	variables map[string]string
	masker    *secrets.Masker
	spaces    []string
	use       mcp.Use

	mu       sync.Mutex
	accesses []sandbox.Access
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, variables: map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}}
	var err error
	if r.sandbox, err = sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.ModeAuto, Network: r.network}); err != nil {
		t.Fatal(err)
	}
	if r.sandbox.Name() == string(sandbox.KindNone) {
		t.Skip("NOT TESTED: nothing isolates programs here")
	}
	catalog, err := environments.New(environments.Config{Data: "/nowhere", Definitions: map[string]environments.Definition{
		"own": {}, "bare": {}, "host": {Isolation: "none", User: "nobody"},
	}}, machine{})
	if err != nil {
		t.Fatal(err)
	}
	r.catalog = environmentsOfTest{Catalog: catalog, mounts: map[string][]domain.Mount{}}
	r.use = mcp.Use{Tenant: "default", Execution: "e", Directory: folder(t), Environment: r.chosen("workspace")}
	return r
}

func (r *rig) chosen(name string) domain.Environment {
	e, err := r.catalog.Choose(domain.EnvironmentChoice{Name: name})
	must(r.t, err)
	return e
}

// network grants what is asked for, and remembers it.
func (r *rig) network(to sandbox.Access) (sandbox.Proxy, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accesses = append(r.accesses, to)
	return proxy.Open(egress.Dialer{Hosts: to.Hosts, Networks: to.Networks})
}

// environmentsOfTest are environments with mounts in /tmp, where no definition can have one, as the folders of tests lie there.
type environmentsOfTest struct {
	*environments.Catalog
	mounts map[string][]domain.Mount // by the name of the environment
}

func (e environmentsOfTest) Choose(choice domain.EnvironmentChoice) (domain.Environment, error) {
	chosen, err := e.Catalog.Choose(choice)
	chosen.Mounts = append(chosen.Mounts, e.mounts[chosen.Name]...)
	return chosen, err
}

func (e environmentsOfTest) All() []domain.EnvironmentInfo {
	all := e.Catalog.All()
	for i := range all {
		all[i].Mounts = append(all[i].Mounts, e.mounts[all[i].Name]...)
	}
	return all
}

func (e environmentsOfTest) Mounts(_ string, mounts map[string]string) (all []domain.Mount, err error) {
	for path, access := range mounts {
		all = append(all, domain.Mount{Path: path, Access: domain.Access(access)})
	}
	return all, nil
}

type machine struct{}

func (machine) Real(path string) (string, error)   { return path, nil }
func (machine) Reads(string, string) (bool, error) { return false, nil }

func (r *rig) lookup(name string) (string, bool) {
	value, set := r.variables[name]
	return value, set
}

// start starts a server for the execution.
func (r *rig) start(server mcp.Server) (mcp.Program, error) {
	r.t.Helper()
	servers, err := mcp.NewCatalog(map[string]mcp.Server{"tools": server}, r.lookup)
	must(r.t, err)
	programs, err := New(Config{
		Servers: servers, Environments: r.catalog, Sandbox: r.sandbox, Lookup: r.lookup, Masker: r.masker, Workspaces: r.spaces,
	})
	must(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel() // it ends the starting, and nothing later
	return programs.Start(ctx, "tools", server, r.use)
}

// shell is a program that runs each line of its input, and says when it has.
type shell struct {
	mcp.Program
	t     testing.TB
	lines *bufio.Reader
}

const shellText = "while read -r line; do eval \"$line\"; printf '\\n[end]\\n'; done\n"

// starts starts a server that is a shell.
func (r *rig) starts(server mcp.Server) *shell {
	r.t.Helper()
	started, err := r.start(server)
	must(r.t, err)
	r.t.Cleanup(func() { _ = started.Close() })
	return &shell{started, r.t, bufio.NewReader(started)}
}

// run returns what a line prints.
func (s *shell) run(line string) string {
	s.t.Helper()
	if _, err := fmt.Fprintf(s, "%s\n", line); err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	var output strings.Builder
	for {
		text, err := s.lines.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: %v after %q", line, err, output.String())
		}
		if text == "[end]\n" {
			return strings.TrimRight(output.String(), "\n")
		}
		output.WriteString(text)
	}
}

// command runs a line as a command of the execution.
func (r *rig) command(line string) string {
	r.t.Helper()
	var output strings.Builder
	_, err := r.sandbox.Run(r.t.Context(), domain.Command{
		Argv: []string{"sh", "-c", line}, Dir: r.use.Directory, Environment: r.use.Environment, Timeout: patience,
	}, &output)
	must(r.t, err)
	return strings.TrimSuffix(output.String(), "\n")
}

// folder is a temporary one that an ordinary user reaches, too: a program may run as one.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		must(t, os.Chmod(at, 0o755))
	}
	must(t, os.Chmod(dir, 0o777))
	return dir
}

func write(t testing.TB, path, text string) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o600))
	must(t, os.Chmod(path, 0o777)) // only mounts are to keep a program from writing it
	return path
}

// script is a program that is a shell, in a folder where no agent writes.
func script(t testing.TB) string {
	return write(t, filepath.Join(folder(t), "server"), "#!/bin/sh\n"+shellText)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, not %q", what, got, want)
	}
}

// refusal is the message of a server that is not started.
func (r *rig) refusal(server mcp.Server, code domain.Code) string {
	r.t.Helper()
	started, err := r.start(server)
	if err == nil {
		_ = started.Close()
		r.t.Fatal("it is started")
	}
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != code {
		r.t.Fatalf("it is not started by %v, and not by %s", err, code)
	}
	return e.Message
}

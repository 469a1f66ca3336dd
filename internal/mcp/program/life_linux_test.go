package program

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
)

// TestCloseLeavesNothing: not of a program that ignores everything, and not of what it has started.
func TestCloseLeavesNothing(t *testing.T) {
	r := newRig(t)
	for name, line := range map[string]string{
		"a child":                     "sleep %s &",
		"a child that has left":       "setsid sleep %s >/dev/null 2>&1 </dev/null &",
		"a program that does not end": "trap '' TERM; sleep %s & while :; do sleep 1; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seconds := fmt.Sprintf("300.%d", time.Now().UnixNano())
			started, err := r.start(mcp.Server{Command: script(t)})
			must(t, err)
			_, err = fmt.Fprintf(started, line+"\n", seconds)
			must(t, err)
			for deadline := time.Now().Add(patience); !running(t, seconds); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the child does not run")
				}
			}
			began := time.Now()
			must(t, started.Close())
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			if running(t, seconds) {
				t.Error("its child lives")
			}
			select {
			case <-started.Done():
			default:
				t.Error("it is not done")
			}
			must(t, started.Close())
		})
	}
}

// running reports whether a process of this machine has the argument.
func running(t testing.TB, argument string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), "sleep\x00"+argument) {
			return true
		}
	}
	return false
}

// TestAFailureHasLastWords, without secrets, and no more of them than fit into a message.
func TestAFailureHasLastWords(t *testing.T) {
	r := newRig(t)
	r.masker = secrets.NewMasker("s3cret-of-the-vault")
	r.variables["API_KEY"] = "k3y-of-the-server"
	server := mcp.Server{Command: script(t), Env: []string{"API_KEY"}, SecretEnv: map[string]string{"OTHER": "API_KEY"}}
	for line, want := range map[string]string{
		"exit 0": `The program of the MCP server "tools" ended with exit code 0.`,
		"echo the key $API_KEY and s3cret-of-the-vault >&2; exit 3": `ended with exit code 3. It last wrote to its standard error:` + "\nthe key [masked] and [masked]",
		"kill -9 $$": `The program of the MCP server "tools" was ended by a signal (killed).`,
		"i=0; while [ $i -lt 9000 ]; do echo a line of words; i=$((i+1)); done >&2; exit 1": "…\na line of words\n",
	} {
		started, err := r.start(server)
		must(t, err)
		_, err = io.WriteString(started, line+"\n")
		must(t, err)
		if rest, err := io.ReadAll(started); err != nil || len(rest) > 0 {
			t.Errorf("%s: its output ends with %q and %v", line, rest, err)
		}
		<-started.Done()
		failure := started.Failure()
		if domain.CodeOf(failure) != domain.CodeAgentExited || !strings.Contains(failure.Error(), want) || len(failure.Error()) > 3<<10 {
			t.Errorf("%s: %v", line, failure)
		}
		must(t, started.Close())
	}
}

func TestProgramsThatCannotBeStarted(t *testing.T) {
	r := newRig(t)
	plain := write(t, filepath.Join(folder(t), "plain"), "text")
	must(t, os.Chmod(plain, 0o644))
	broken := write(t, filepath.Join(folder(t), "broken"), "#!/no/such/interpreter\n")
	for name, test := range map[string]struct {
		server mcp.Server
		about  []string
	}{
		"no such program":    {mcp.Server{Command: "no-such-server"}, []string{`"no-such-server"`, "PATH"}},
		"no program":         {mcp.Server{Command: plain}, []string{`"plain"`}},
		"no interpreter":     {mcp.Server{Command: broken}, []string{"broken"}},
		"a missing variable": {mcp.Server{Command: "sh", Env: []string{"GONE"}, SecretEnv: map[string]string{"A": "LOST"}}, []string{"GONE, LOST"}},
	} {
		message := r.refusal(test.server, domain.CodeAgentUnavailable)
		for _, about := range test.about {
			if !strings.Contains(message, about) {
				t.Errorf("%s: %s", name, message)
			}
		}
	}
}

// TestMistakesOfTheIsolation point at their places.
func TestMistakesOfTheIsolation(t *testing.T) {
	data := folder(t)
	catalog, err := environments.New(environments.Config{Data: data, Definitions: map[string]environments.Definition{"host": {Isolation: "none", User: "operator"}}}, machine{})
	must(t, err)
	for at, server := range map[string]mcp.Server{
		"/mcpServers/tools/environment":                       {Command: "a", Environment: "nowhere"},
		"/mcpServers/tools/hosts":                             {Command: "a", Environment: "host", Hosts: []string{"a.example"}},
		"/mcpServers/tools/mounts":                            {Command: "a", Environment: "host", Mounts: map[string]string{"/srv": "read"}},
		"/mcpServers/tools/mounts/~1srv":                      {Command: "a", Mounts: map[string]string{"/srv": "all"}},
		"/mcpServers/tools/mounts/~1proc":                     {Command: "a", Mounts: map[string]string{"/proc": "read"}},
		"/mcpServers/tools/mounts/srv":                        {Command: "a", Mounts: map[string]string{"srv": "read"}},
		"/mcpServers/tools/mounts/~1usr":                      {Command: "a", Mounts: map[string]string{"/usr": "write"}},
		domain.Pointer("mcpServers", "tools", "mounts", data): {Command: "a", Mounts: map[string]string{data: "read"}},
	} {
		servers, err := mcp.NewCatalog(map[string]mcp.Server{"tools": server}, nil)
		must(t, err)
		_, err = New(Config{Servers: servers, Environments: catalog, Sandbox: &sandbox.Sandbox{}})
		var pointer string
		if e, ok := err.(*domain.Error); ok && len(e.Details) > 0 { //nolint:errorlint // nothing wraps it
			pointer = e.Details[0].Pointer
		}
		if domain.CodeOf(err) != domain.CodeInvalid || pointer != at {
			t.Errorf("%s: %v at %s", at, err, pointer)
		}
	}
}

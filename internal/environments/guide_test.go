package environments

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// sight is a sandbox that shows what definitions say, and looks at nothing.
type sight struct {
	searches atomic.Int32
	fails    atomic.Bool
}

func (*sight) Folders(e domain.Environment) []domain.Mount {
	if e.View != domain.ViewMachine {
		return e.Mounts
	}
	return append([]domain.Mount{{Path: "/etc", Access: domain.AccessRead}, {Path: "/var/log", Access: domain.AccessRead}}, e.Mounts...)
}

func (s *sight) Sees(e domain.Environment, dir, path string) domain.Access {
	switch {
	case e.View == domain.ViewHost, within(dir, path) && !e.ReadOnly:
		return domain.AccessWrite
	case within("/usr", path), within(dir, path):
		return domain.AccessRead
	}
	for _, mount := range s.Folders(e) {
		if within(mount.Path, path) {
			return mount.Access
		}
	}
	return ""
}

func (s *sight) Find(context.Context, domain.Environment, string, []string) ([]string, error) {
	s.searches.Add(1)
	if s.fails.Load() {
		return nil, errors.New("no")
	}
	return []string{"git", "jq"}, nil
}

func guide(t *testing.T) (*Guide, *sight) {
	t.Helper()
	c := catalog(t, Config{
		Definitions: map[string]Definition{
			"app": {
				Mounts: map[string]string{"/srv/app": "write", "/var/log/app": "read"}, Processes: "host", Network: []string{"corp"},
				Files: map[string]string{"KUBECONFIG": "/etc/signoff/readonly.kubeconfig"},
			},
			"host": {Isolation: "none", User: "operator"},
		},
		Networks: map[string]NetworkDefinition{"corp": {
			Hosts: []string{"db.corp.example", "*.svc.example", "10.20.0.7"}, CIDRs: []string{"10.20.0.0/16"}, Ports: []int{443, 5432},
		}},
	})
	s := new(sight)
	return NewGuide(c, s), s
}

func chosen(t *testing.T, g *Guide, choice domain.EnvironmentChoice) domain.Environment {
	t.Helper()
	e, err := g.catalog.Choose(choice)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const missing = "ansible, aws, az, curl, dig, docker, gcloud, go, helm, ip, journalctl, kubectl, make, mysql, node, npm, openssl, perl, ping, podman, ps, psql, python3, " +
	"redis-cli, rsync, ss, ssh, systemctl, terraform, top, yq"

const end = `- A refusal looks like "No such file or directory", "Permission denied", "Read-only file system", "Operation not permitted", or a connection that fails. Where Signoff can tell more, it does so in a line that begins with "signoff:".
` + last

const last = `- What you do not see may be there all the same. Say that it is "not visible to me" in this environment; never say that it is not there.`

// TestModelsAreToldWhatTheySee: the whole text, for each kind of environment. It is the same each time, so that the provider's cache of the prompt holds.
func TestModelsAreToldWhatTheySee(t *testing.T) {
	g, s := guide(t)
	for name, want := range map[string]string{
		"workspace": `What your commands and file tools see of the machine is the environment "workspace":

- File tools see /data/runs (read and write). Commands see besides the programs of the system in /usr, a few settings in /etc, and a /tmp that is empty for each command.
- Nothing else of the machine is visible: no home folders, no /run, no other folders.
- Public hosts: only those that a call lists in ` + "`hosts`" + `, and only by the proxy that HTTPS_PROXY and its like name, over HTTP and HTTPS.
- No private hosts, and no service of the machine itself: localhost is the command's own.
- Programs that were looked for and are visible: git, jq. Not visible: ` + missing + `.
- Processes: a command sees its own, and none of the machine.
- Services of the machine are out of reach: systemctl, docker, and journalctl of the running system find none here.
` + end,
		"machine": `What your commands and file tools see of the machine is the environment "machine":

- Folders: /data/runs (read and write), /etc (read-only), /var/log (read-only). Besides, the programs of the system in /usr, and a /tmp that is empty for each command. Files that hold secrets, and others that the operator hides, are not visible in them.
- Nothing else of the machine is visible: no home folders, no /run, no other folders.
- Public hosts: only those that a call lists in ` + "`hosts`" + `, and only by the proxy that HTTPS_PROXY and its like name, over HTTP and HTTPS.
- No private hosts, and no service of the machine itself: localhost is the command's own.
- Programs that were looked for and are visible: git, jq. Not visible: ` + missing + `.
- Processes: a command sees its own, and none of the machine.
- Local sockets are refused, so systemctl, docker, and journalctl of the running system find no service here.
` + end,
		"app": `What your commands and file tools see of the machine is the environment "app":

- Folders: /data/runs (read and write), /srv/app (read and write), /var/log/app (read-only). Besides, the programs of the system in /usr, and a /tmp that is empty for each command. Files that hold secrets, and others that the operator hides, are not visible in them.
- Nothing else of the machine is visible: no home folders, no /run, no other folders.
- Public hosts: only those that a call lists in ` + "`hosts`" + `, and only by the proxy that HTTPS_PROXY and its like name, over HTTP and HTTPS.
- Private hosts, with their ports, directly by name and with any program: db.corp.example (443, 5432).
- Private hosts, with their ports, by the proxy only (HTTPS_PROXY): *.svc.example (443, 5432), 10.20.0.7 (443, 5432).
- No other private hosts, and no service of the machine itself: localhost is the command's own.
- Programs that were looked for and are visible: git, jq. Not visible: ` + missing + `.
- Processes: ps, top and pgrep show those of the machine. None of them can be signalled, and /proc has the command's own only.
- Credentials are lent: these variables name their files: KUBECONFIG. What is secret in them is masked wherever you would read it.
- Local sockets are refused, so systemctl, docker, and journalctl of the running system find no service here.
` + end,
		"host": `What your commands and file tools see of the machine is the environment "host":

- Commands and file tools run on the host, without isolation, as the user operator. They see and reach what that user may. The working directory is /data/runs.
- Programs that were looked for and are visible: git, jq. Not visible: ` + missing + `.
- A refusal is one of the system, such as "Permission denied".
` + last,
	} {
		e := chosen(t, g, domain.EnvironmentChoice{Name: name})
		before := s.searches.Load()
		var asking sync.WaitGroup
		for range 3 {
			asking.Go(func() {
				if diff := cmp.Diff(want, g.Describe(t.Context(), e, "/data/runs", nil)); diff != "" {
					t.Errorf("%s:\n%s", name, diff)
				}
			})
		}
		asking.Wait()
		if searches := s.searches.Load() - before; searches != 1 {
			t.Errorf("%s: the programs were looked for %d times", name, searches)
		}
	}
}

// TestModelsAreToldWhatIsUnavailable: commands that will be refused are not promised, and the reason is there.
func TestModelsAreToldWhatIsUnavailable(t *testing.T) {
	g, s := guide(t)
	narrowed := chosen(t, g, domain.EnvironmentChoice{Name: "workspace", ReadOnly: true})
	if text := g.Describe(t.Context(), narrowed, "/data/runs", nil); !strings.Contains(text, "File tools see /data/runs (read-only).") {
		t.Error(text)
	}
	g.catalog.Limit("/data", func(e domain.Environment, _ string) error {
		if e.View == domain.ViewHost {
			return nil
		}
		return errors.New("no user namespaces")
	})
	for name, wants := range map[string][]string{
		"workspace": {"- Commands are refused: No user namespaces.\n", "- File tools see /data/runs (read and write), and nothing else.\n", last},
		"machine":   {"- Commands and file tools are refused: No user namespaces.\n", last},
	} {
		text := g.Describe(t.Context(), g.catalog.environments[name], "/data/runs", nil)
		for _, want := range wants {
			if !strings.Contains(text, want) || strings.Contains(text, "Programs") {
				t.Errorf("%s: %q is not in:\n%s", name, want, text)
			}
		}
	}
	gone := domain.Environment{Name: "gone", View: domain.ViewMachine}
	if text := g.Describe(t.Context(), gone, "/data/runs", errors.New("it is not defined any more")); !strings.Contains(text, "refused: It is not defined any more.") {
		t.Error(text)
	}
	s.fails.Store(true) // a search that failed is no search that found nothing
	host := g.catalog.environments["host"]
	if text := g.Describe(t.Context(), host, "/data/runs", nil); strings.Contains(text, "Programs") {
		t.Error(text)
	}
	s.fails.Store(false)
	if text := g.Describe(t.Context(), host, "/data/runs", nil); !strings.Contains(text, "visible: git, jq") {
		t.Error(text)
	}
}

// TestNotesOnRefusals: each kind of refusal as programs print it, with the note that it gets; and lines that get none.
func TestNotesOnRefusals(t *testing.T) {
	g, _ := guide(t)
	readOnly := domain.EnvironmentChoice{Name: "app", ReadOnly: true, Mounts: []string{"/srv/app"}, Hosts: []string{}}
	for _, test := range []struct {
		choice domain.EnvironmentChoice
		output string
		want   []string
	}{
		{domain.EnvironmentChoice{}, "tail: cannot open '/var/log/x' for reading: No such file or directory\n", []string{"/var/log/x: not visible in environment workspace; environment machine shows it."}},
		{domain.EnvironmentChoice{}, "open /srv/app/a: no such file or directory\nls: cannot access '/mnt/ann': No such file or directory\n", []string{
			"/srv/app/a: not visible in environment workspace; environment app shows it.", "/mnt/ann: not visible in environment workspace; environment host shows it.",
		}},
		{domain.EnvironmentChoice{}, "FileNotFoundError: [Errno 2] No such file or directory: '/var/log/app/e.log'", []string{
			"/var/log/app/e.log: not visible in environment workspace; each of the environments app, machine shows it.",
		}},
		{domain.EnvironmentChoice{Name: "machine"}, "sh: 1: cannot create /etc/motd: Read-only file system\n", []string{"/etc/motd: read-only in environment machine; environment host may write it."}},
		{readOnly, "touch: cannot touch '/srv/app/x': Read-only file system\ncat: /var/log/app/y: No such file or directory\ncurl: (6) Could not resolve host: db.corp.example\n", []string{
			"/srv/app/x: read-only in environment app; the environment app may write it, but the request has narrowed it.",
			"/var/log/app/y: not visible in environment app; the environment app shows it, but the request has narrowed it.",
			"db.corp.example: not among the hosts that this command reaches in environment app; list it in `hosts` if it is a public host; the environment app reaches it, but the request has narrowed it.",
		}},
		{domain.EnvironmentChoice{}, "bash: line 1: kubectl: command not found\n", []string{"kubectl: no such program is visible in environment workspace; the machine may have it all the same."}},
		{domain.EnvironmentChoice{}, "psql: error: connection to server at \"localhost\" (127.0.0.1), port 5432 failed: Connection refused\n", []string{
			"localhost: the command's own in environment workspace, not the machine's; environment host reaches services of the machine.",
			"127.0.0.1: the command's own in environment workspace, not the machine's; environment host reaches services of the machine.",
		}},
		{domain.EnvironmentChoice{}, "\nsignoff: network: connected to granted.example:443; refused (destinationBlocked) db.corp.example:5432 (2 times)\n", []string{
			"db.corp.example: not among the hosts that this command reaches in environment workspace; list it in `hosts` if it is a public host; environment app reaches it.",
		}},
		{domain.EnvironmentChoice{}, "curl: (6) Could not resolve host: granted.example\n", nil},
		{domain.EnvironmentChoice{}, "dial tcp 10.20.0.7:443: connect: connection refused", []string{"10.20.0.7: not among the hosts that this command reaches in environment workspace; environment app reaches it."}},
		{domain.EnvironmentChoice{Name: "app"}, "dial tcp: lookup a.svc.example: connection refused\n", nil},
		{domain.EnvironmentChoice{Name: "machine"}, "System has not been booted with systemd as init system (PID 1). Can't operate.\nFailed to connect to bus: Host is down\n", []string{
			"Services of the machine: not visible in environment machine, which opens none of their sockets; environment host reaches them.",
		}},
		{domain.EnvironmentChoice{}, "cat: missing.txt: No such file or directory\ncat: /data/runs/none: No such file or directory\nls: /usr/none: No such file or directory\nall is well with /mnt\n", nil},
		{domain.EnvironmentChoice{Name: "host"}, "cat: /srv/x: Permission denied\n", nil},
		{domain.EnvironmentChoice{}, strings.Repeat("x", 3<<20) + "\ncat: /mnt/late: No such file or directory\n", []string{"/mnt/late: not visible in environment workspace; environment host shows it."}},
	} {
		r := g.Reader(chosen(t, g, test.choice), "/data/runs", []string{"granted.example"})
		for rest := []byte(test.output); len(rest) > 0; { // it comes in pieces
			n := min(len(rest), 1000)
			_, _ = r.Write(rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(test.want, r.Notes()); diff != "" {
			t.Errorf("%.100s:\n%s", test.output, diff)
		}
	}
	many := g.Reader(chosen(t, g, domain.EnvironmentChoice{}), "/data/runs", nil)
	for i := range 1000 {
		_, _ = many.Write([]byte("cat: /mnt/" + strings.Repeat("a", i) + ": No such file or directory\n"))
	}
	if notes := many.Notes(); len(notes) != maxNotes || len(slices.Compact(notes)) != maxNotes {
		t.Errorf("%q", notes)
	}
	if len(many.head)+len(many.tail) > headRead+3*tailRead {
		t.Error("it keeps more than it reads")
	}
}

// TestPathsOfFileTools: relative ones too, and one that climbs out of the working directory.
func TestPathsOfFileTools(t *testing.T) {
	g, _ := guide(t)
	e := chosen(t, g, domain.EnvironmentChoice{})
	for path, want := range map[string]string{
		"a/b": "", "/data/runs/x": "", "../../mnt/x\n": `/mnt/x\n: not visible in environment workspace; environment host shows it.`,
		"/var/log/x": "/var/log/x: not visible in environment workspace; environment machine shows it.",
	} {
		if got := g.Path(e, "/data/runs", path, false); got != want {
			t.Errorf("%q: %s", path, got)
		}
	}
	if got := g.Path(e, "/data/runs", "/var/log/x", true); got != "/var/log/x: not visible in environment workspace; environment host may write it." {
		t.Error(got)
	}
}

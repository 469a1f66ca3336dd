package environments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"signoff/internal/domain"
)

// Sandbox is what a guide asks of the isolation of commands. Package sandbox implements it.
type Sandbox interface {
	// Folders lists what an environment shows besides the workspace and the programs of the system.
	Folders(e domain.Environment) []domain.Mount
	// Sees returns what a command may do with a path; nothing (empty) outside of its sight. It looks at no file.
	Sees(e domain.Environment, dir, path string) domain.Access
	// Find returns those of the programs that a command finds.
	Find(ctx context.Context, e domain.Environment, dir string, programs []string) ([]string, error)
}

// Guide tells models what the commands and file tools of an execution see, and what they were refused. It says no more than the sandbox does. Its methods
// may be called by several goroutines at once.
type Guide struct {
	catalog *Catalog
	sandbox Sandbox

	mu    sync.Mutex
	found map[string]*search // by the digest of the environment
}

// search looks for programs once.
type search struct {
	done  chan struct{} // closed when the search is over
	found []string
	err   error
}

// NewGuide returns a guide to the environments of a catalog.
func NewGuide(catalog *Catalog, sandbox Sandbox) *Guide {
	return &Guide{catalog: catalog, sandbox: sandbox, found: map[string]*search{}}
}

// WellKnown are the programs that a guide looks for: those that runbooks speak of.
var WellKnown = []string{
	"ansible", "aws", "az", "curl", "dig", "docker", "gcloud", "git", "go", "helm", "ip", "jq", "journalctl", "kubectl", "make", "mysql", "node", "npm",
	"openssl", "perl", "ping", "podman", "ps", "psql", "python3", "redis-cli", "rsync", "ss", "ssh", "systemctl", "terraform", "top", "yq",
}

// Describe tells a model what an execution in dir sees and reaches, in a few lines. Why the environment cannot be had is the argument unavailable; nil where it can.
// The text is the same each time, but that the programs are missing where they could not be looked for.
func (g *Guide) Describe(ctx context.Context, e domain.Environment, dir string, unavailable error) string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, "- "+format+"\n", args...) }
	fmt.Fprintf(&text, "What your commands and file tools see of the machine is the environment %q:\n\n", e.Name)
	if reason, is := g.catalog.unavailable[e.Name]; is && unavailable == nil {
		unavailable = errors.New(reason)
	}
	switch {
	case unavailable != nil && e.ShowsMore():
		line("Commands and file tools are refused: %s", sentence(unavailable))
	case unavailable != nil:
		line("Commands are refused: %s", sentence(unavailable))
		line("File tools see %s, and nothing else.", folder(dir, e.ReadOnly))
	case e.View == domain.ViewHost:
		g.describeHost(ctx, e, dir, line)
	default:
		g.describeFiles(e, dir, line)
		describeHosts(e, line)
		g.describePrograms(ctx, e, dir, line)
		describeRest(e, line)
		line(`A refusal looks like "No such file or directory", "Permission denied", "Read-only file system", "Operation not permitted", or a connection that ` +
			`fails. Where Signoff can tell more, it does so in a line that begins with "signoff:".`)
	}
	line(`What you do not see may be there all the same. Say that it is "not visible to me" in this environment; never say that it is not there.`)
	return strings.TrimSuffix(text.String(), "\n")
}

func folder(path string, readOnly bool) string {
	if readOnly {
		return path + " (read-only)"
	}
	return path + " (read and write)"
}

func (g *Guide) describeHost(ctx context.Context, e domain.Environment, dir string, line func(string, ...any)) {
	user := "the user " + e.User
	if e.AsServer {
		user = "the server's own user"
	}
	line("Commands and file tools run on the host, without isolation, as %s. They see and reach what that user may. The working directory is %s.", user, dir)
	g.describePrograms(ctx, e, dir, line)
	describeLent(e, line)
	line(`A refusal is one of the system, such as "Permission denied".`)
}

func (g *Guide) describeFiles(e domain.Environment, dir string, line func(string, ...any)) {
	shown := []string{folder(dir, e.ReadOnly)}
	for _, mount := range g.sandbox.Folders(e) {
		shown = append(shown, folder(mount.Path, mount.Access == domain.AccessRead))
	}
	if !e.ShowsMore() {
		line("File tools see %s. Commands see besides the programs of the system in /usr, a few settings in /etc, and a /tmp that is empty for each command.", shown[0])
	} else {
		line("Folders: %s. Besides, the programs of the system in /usr, and a /tmp that is empty for each command. "+
			"Files that hold secrets, and others that the operator hides, are not visible in them.", strings.Join(shown, ", "))
	}
	line("Nothing else of the machine is visible: no home folders, no /run, no other folders.")
}

func describeHosts(e domain.Environment, line func(string, ...any)) {
	line("Public hosts: only those that a call lists in `hosts`, and only by the proxy that HTTPS_PROXY and its like name, over HTTP and HTTPS.")
	var named, proxied []string
	for _, network := range e.Networks {
		var ports []string
		for _, port := range network.Ports {
			ports = append(ports, strconv.Itoa(int(port)))
		}
		for _, host := range network.Hosts {
			text := host + " (" + strings.Join(ports, ", ") + ")"
			if strings.HasPrefix(host, "*.") || net.ParseIP(host) != nil {
				proxied = append(proxied, text)
			} else {
				named = append(named, text)
			}
		}
	}
	if len(named) > 0 {
		line("Private hosts, with their ports, directly by name and with any program: %s.", strings.Join(named, ", "))
	}
	if len(proxied) > 0 {
		line("Private hosts, with their ports, by the proxy only (HTTPS_PROXY): %s.", strings.Join(proxied, ", "))
	}
	if len(named)+len(proxied) == 0 {
		line("No private hosts, and no service of the machine itself: localhost is the command's own.")
	} else {
		line("No other private hosts, and no service of the machine itself: localhost is the command's own.")
	}
}

// describePrograms says nothing where the programs could not be looked for.
func (g *Guide) describePrograms(ctx context.Context, e domain.Environment, dir string, line func(string, ...any)) {
	found, err := g.programs(ctx, e, dir)
	if err != nil {
		return
	}
	missing := slices.DeleteFunc(slices.Clone(WellKnown), func(program string) bool { return slices.Contains(found, program) })
	line("Programs that were looked for and are visible: %s. Not visible: %s.", listOr(found), listOr(missing))
}

func listOr(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

func describeRest(e domain.Environment, line func(string, ...any)) {
	if e.Processes == domain.ProcessesHost {
		line("Processes: ps, top and pgrep show those of the machine. None of them can be signalled, and /proc has the command's own only.")
	} else {
		line("Processes: a command sees its own, and none of the machine.")
	}
	describeLent(e, line)
	if e.ShowsMore() {
		line("Local sockets are refused, so systemctl, docker, and journalctl of the running system find no service here.")
	} else {
		line("Services of the machine are out of reach: systemctl, docker, and journalctl of the running system find none here.")
	}
}

func describeLent(e domain.Environment, line func(string, ...any)) {
	if len(e.Files) > 0 {
		line("Credentials are lent: these variables name their files: %s. What is secret in them is masked wherever you would read it.",
			strings.Join(slices.Sorted(maps.Keys(e.Files)), ", "))
	}
}

// programs looks once for each environment. A failed search is tried again by the next caller.
func (g *Guide) programs(ctx context.Context, e domain.Environment, dir string) ([]string, error) {
	digest := e.Digest()
	g.mu.Lock()
	current := g.found[digest]
	if current == nil {
		current = &search{done: make(chan struct{})}
		g.found[digest] = current
		go g.look(context.WithoutCancel(ctx), current, digest, e, dir)
	}
	g.mu.Unlock()
	select {
	case <-current.done:
		return current.found, current.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// searchTimeout bounds a search, and so the wait of the first turn in an environment.
const searchTimeout = 30 * time.Second

// look outlives the turn that has begun it: others wait for it, too.
func (g *Guide) look(ctx context.Context, s *search, digest string, e domain.Environment, dir string) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	s.found, s.err = g.sandbox.Find(ctx, e, dir, WellKnown)
	if s.err != nil {
		slog.Warn("the programs of an environment cannot be looked for, so models are not told of them", "environment", e.Name, "error", s.err)
		g.mu.Lock()
		delete(g.found, digest)
		g.mu.Unlock()
	}
	close(s.done)
}

package environments

import (
	"bytes"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

// Path says why a file tool or command in dir was refused a path, and which environment would show it; empty where the environment is no reason. It goes by definitions
// alone, so it never tells whether a file exists.
func (g *Guide) Path(e domain.Environment, dir, path string, write bool) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	want := domain.AccessRead
	reason := "not visible"
	if write {
		want = domain.AccessWrite
	}
	allows := func(e domain.Environment) bool {
		sees := g.sandbox.Sees(e, dir, path)
		return sees == want || sees == domain.AccessWrite
	}
	switch sees := g.sandbox.Sees(e, dir, path); {
	case allows(e):
		return ""
	case sees != "":
		reason = "read-only"
	}
	verb := "shows it"
	if write {
		verb = "may write it"
	}
	quoted := strconv.Quote(path) // it may hold a line break
	return fmt.Sprintf("%s: %s in environment %s; %s.", quoted[1:len(quoted)-1], reason, e.Name, g.elsewhere(e, verb, allows))
}

// host says that an environment does not reach a host, and which one does.
func (g *Guide) host(e domain.Environment, host string, port uint16) string {
	reaches := func(e domain.Environment) bool {
		return e.View == domain.ViewHost || slices.ContainsFunc(e.Networks, func(n domain.Network) bool {
			return (port == 0 || slices.Contains(n.Ports, port)) && egress.Covers(n.Hosts, host)
		})
	}
	if reaches(e) {
		return ""
	}
	hint := "list it in `hosts` if it is a public host; "
	if address, err := netip.ParseAddr(host); err == nil && !egress.Public(address) || !strings.Contains(host, ".") {
		hint = ""
	}
	return fmt.Sprintf("%s: not among the hosts that this command reaches in environment %s; %s%s.", host, e.Name, hint, g.elsewhere(e, "reaches it", reaches))
}

// services says where programs that speak to a service of the machine work.
func (g *Guide) services(e domain.Environment) string {
	return fmt.Sprintf("Services of the machine: not visible in environment %s, which opens none of their sockets; %s.", e.Name,
		g.elsewhere(e, "reaches them", func(e domain.Environment) bool { return e.View == domain.ViewHost }))
}

// maxNamed bounds the environments that one note names.
const maxNamed = 3

// elsewhere names the environments that would have done; those without isolation only where no other does.
func (g *Guide) elsewhere(e domain.Environment, verb string, would func(domain.Environment) bool) string {
	var names, unconfined []string
	for _, one := range g.catalog.All() {
		switch {
		case !one.Available || !would(one.Environment):
		case one.Name == e.Name:
			return fmt.Sprintf("the environment %s %s, but the request has narrowed it", e.Name, verb)
		case one.View == domain.ViewHost:
			unconfined = append(unconfined, one.Name)
		default:
			names = append(names, one.Name)
		}
	}
	if len(names) == 0 {
		names = unconfined
	}
	names = names[:min(len(names), maxNamed)]
	switch len(names) {
	case 0:
		return "no environment of this server " + verb
	case 1:
		return "environment " + names[0] + " " + verb
	default:
		return "each of the environments " + strings.Join(names, ", ") + " " + verb
	}
}

// Reader looks through the output of a command for what the command was refused. It changes nothing of it, and its notes are guesses: the same words may stand in a file
// that the command prints.
type Reader struct {
	guide       *Guide
	environment domain.Environment
	dir         string
	hosts       []string // that the command was granted

	head, tail []byte
	cut        bool // something between head and tail is not looked at
}

// Reader returns a reader for one command in dir that was granted the hosts.
func (g *Guide) Reader(e domain.Environment, dir string, hosts []string) *Reader {
	return &Reader{guide: g, environment: e, dir: dir, hosts: hosts}
}

const (
	headRead = 256 << 10 // bytes
	tailRead = 64 << 10
	lineRead = 2 << 10
	maxNotes = 5
	perLine  = 3
)

// Write implements io.Writer. It keeps the beginning and the end of a long output.
func (r *Reader) Write(p []byte) (int, error) {
	rest := p
	if room := headRead - len(r.head); room > 0 {
		taken := min(room, len(rest))
		r.head, rest = append(r.head, rest[:taken]...), rest[taken:]
	}
	r.tail = append(r.tail, rest...)
	if len(r.tail) > 2*tailRead {
		r.tail, r.cut = append(r.tail[:0], r.tail[len(r.tail)-tailRead:]...), true
	}
	return len(p), nil
}

// Notes returns a sentence for each thing that the command was refused, as far as it can be told, at most five.
func (r *Reader) Notes() []string {
	if r.environment.View == domain.ViewHost {
		return nil
	}
	text := r.head
	if !r.cut {
		text, r.tail = append(text, r.tail...), nil
	}
	var notes []string
	for _, part := range [][]byte{text, r.tail} {
		for line := range bytes.Lines(part) {
			for _, note := range r.read(string(line[:min(len(line), lineRead)])) {
				if note != "" && !slices.Contains(notes, note) {
					notes = append(notes, note)
				}
				if len(notes) == maxNotes {
					return notes
				}
			}
		}
	}
	return notes
}

var (
	noPath    = regexp.MustCompile(`(?i)no such file or directory|cannot access|permission denied|operation not permitted`)
	noWrite   = regexp.MustCompile(`(?i)read-only file system`)
	noHost    = regexp.MustCompile(`(?i)could not resolve|name or service not known|name resolution|no such host|could not translate host|network is unreachable|connection refused|getaddrinfo|unable to resolve|failed to connect to|signoff: network: .*refused`)
	noService = regexp.MustCompile(`(?i)booted with systemd|failed to connect to bus|docker daemon|docker api|no journal files|address family not supported|connection to server on socket`)
	noProgram = regexp.MustCompile(`(?:^|[\s:])([A-Za-z0-9_.+-]{1,64}): (?:command )?not found$`)

	paths = regexp.MustCompile("(?:^|[\\s'\"‘“`(=:])(/[^\\s'\"’”`:),]+)")
	names = regexp.MustCompile(`(?i)(?:^|[\s'"‘“(=/@])((?:[a-z0-9-]+\.)+[a-z0-9-]*[a-z0-9]|localhost)(?::([0-9]{1,5}))?`)
)

// read looks at one line.
func (r *Reader) read(line string) (notes []string) {
	line = strings.TrimRight(line, "\r\n")
	if noService.MatchString(line) {
		return []string{r.guide.services(r.environment)}
	}
	if program := noProgram.FindStringSubmatch(line); program != nil {
		notes = append(notes, fmt.Sprintf("%s: no such program is visible in environment %s; the machine may have it all the same.", program[1], r.environment.Name))
	}
	if readOnly := noWrite.MatchString(line); readOnly || noPath.MatchString(line) {
		for _, found := range paths.FindAllStringSubmatch(line, perLine) {
			notes = append(notes, r.guide.Path(r.environment, r.dir, found[1], readOnly))
		}
	}
	if noHost.MatchString(line) {
		if _, refused, ours := strings.Cut(line, "refused ("); ours { // what stands before was connected to
			line = refused
		}
		for _, found := range names.FindAllStringSubmatch(line, perLine) {
			notes = append(notes, r.host(strings.ToLower(found[1]), found[2]))
		}
	}
	return notes
}

// host says nothing of a host that the command was granted: that one does not answer.
func (r *Reader) host(name, port string) string {
	number, _ := strconv.ParseUint(port, 10, 16)
	if name == "localhost" || strings.HasPrefix(name, "127.") {
		return fmt.Sprintf("%s: the command's own in environment %s, not the machine's; %s.", name, r.environment.Name,
			r.guide.elsewhere(r.environment, "reaches services of the machine", func(e domain.Environment) bool { return e.View == domain.ViewHost }))
	}
	if !egress.Pattern(name) || egress.Covers(r.hosts, name) {
		return ""
	}
	return r.guide.host(r.environment, name, uint16(number))
}

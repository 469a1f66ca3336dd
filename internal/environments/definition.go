package environments

import (
	"cmp"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/egress"
	"signoff/internal/launch"
	"signoff/internal/regex"
)

// Definition is one environment, as the operator writes it.
type Definition struct {
	View      string            `yaml:"view"`      // workspace or machine; empty: workspace
	Show      []string          `yaml:"show"`      // files and folders that are readable besides
	Hide      []string          `yaml:"hide"`      // files and folders that are not there, although the view or a mount has them
	Mounts    map[string]string `yaml:"mounts"`    // path → read or write
	Processes string            `yaml:"processes"` // own or host; empty: own
	Network   []string          `yaml:"network"`   // names of networks
	Files     map[string]string `yaml:"files"`     // variable → file: a credential that is lent, read-only

	Isolation string   `yaml:"isolation"` // none makes it a host environment; empty: isolated
	User      string   `yaml:"user"`      // that commands run as
	AsServer  bool     `yaml:"asServer"`  // commands on the host run as the server's own user
	Env       []string `yaml:"env"`       // names of the server's variables for commands on the host
	Allow     []string `yaml:"allow"`     // patterns of command lines on the host that need no question
}

// Machine is what the checks of definitions ask of the machine that the server runs on.
type Machine interface {
	// Real returns the path without links in it. The file or folder must exist.
	Real(path string) (string, error)
	// Reads reports whether the user may read the folder. An unknown user is an error.
	Reads(user, folder string) (bool, error)
}

// checker turns one definition into an environment.
type checker struct {
	Definition
	name     string
	at       string // the definition's place in the file
	networks map[string]domain.Network
	machine  Machine
	data     string // the server's data folder
}

func (c checker) environment() (domain.Environment, error) {
	e := domain.Environment{
		Name: c.name, View: domain.View(cmp.Or(c.View, string(domain.ViewWorkspace))), User: c.User, AsServer: c.AsServer,
		Processes: domain.Processes(cmp.Or(c.Processes, string(domain.ProcessesOwn))),
		Hidden:    []string{}, Mounts: []domain.Mount{}, Networks: []domain.Network{}, Files: map[string]string{},
		Variables: []string{}, Allow: []string{},
	}
	switch c.Isolation {
	case "":
		return c.isolated(e)
	case "none":
		return c.host(e)
	default:
		return e, c.mistake("isolation", "Isolation is none, or the field is left out; %q is neither.", c.Isolation)
	}
}

// host checks a definition without isolation. Everything that only isolation can enforce would be a promise that nobody keeps.
func (c checker) host(e domain.Environment) (domain.Environment, error) {
	for field, written := range map[string]bool{
		"view": c.View != "", "show": c.Show != nil, "hide": c.Hide != nil, "mounts": c.Mounts != nil,
		"processes": c.Processes != "", "network": c.Network != nil,
	} {
		if written {
			return e, c.mistake(field, "Without isolation a command sees and reaches everything that its user may; leave %s out.", field)
		}
	}
	e.View, e.Processes = domain.ViewHost, domain.ProcessesHost
	if err := c.hostUser(); err != nil {
		return e, err
	}
	for i, name := range c.Env {
		if err := launch.CheckVariable(c.at+"/env/"+strconv.Itoa(i), name); err != nil {
			return e, err
		}
	}
	for i, pattern := range c.Allow {
		if strings.TrimSpace(pattern) == "" {
			return e, c.mistake("allow/"+strconv.Itoa(i), "An empty pattern would cover every command; leave it out.")
		}
		if _, err := regex.Compile(pattern, patternSize); err != nil {
			return e, domain.Invalid(c.at+"/allow/"+strconv.Itoa(i), "This is not a regular expression that can be used: %v.", err)
		}
	}
	e.Variables, e.Allow = sorted(c.Env), sorted(c.Allow)
	return e, c.lend(&e)
}

// hostUser makes sure that a command on the host cannot read the data folder: it would find the first token there, and sign off its own calls.
func (c checker) hostUser() error {
	switch {
	case c.AsServer && c.User != "":
		return c.mistake("asServer", "Commands run as %s, or as the server's own user; choose one of user and asServer.", c.User)
	case c.AsServer && c.Allow != nil:
		return c.mistake("allow", "A command that runs as the server's own user can approve its own calls, so no pattern allows one without a question.")
	case c.AsServer:
		return nil
	case c.User == "":
		return c.mistake("user", "An environment without isolation names the user that its commands run as. The user must not be able to read %s.", c.data)
	}
	return c.checkUser()
}

func (c checker) checkUser() error {
	switch reads, err := c.machine.Reads(c.User, c.data); {
	case err != nil:
		return domain.Invalid(c.at+"/user", "There is no user %q on this machine.", c.User).With(err)
	case reads:
		return c.mistake("user", "The user %s can read the server's data folder %s, and so approve its own calls. "+
			"Take the folder's permissions away from others: chmod 700 %s", c.User, c.data, c.data)
	}
	return nil
}

func (c checker) isolated(e domain.Environment) (domain.Environment, error) {
	switch {
	case e.View != domain.ViewWorkspace && e.View != domain.ViewMachine:
		return e, c.mistake("view", "A view is workspace or machine, not %q.", c.View)
	case e.Processes != domain.ProcessesOwn && e.Processes != domain.ProcessesHost:
		return e, c.mistake("processes", "A command sees its own processes or those of the host: own or host, not %q.", c.Processes)
	case c.AsServer:
		return e, c.mistake("asServer", "asServer belongs to an environment with isolation: none.")
	case c.Env != nil:
		return e, c.mistake("env", "env belongs to an environment with isolation: none; files lends credentials to an isolated command.")
	case c.Allow != nil:
		return e, c.mistake("allow", "allow belongs to an environment with isolation: none; permission rules allow isolated commands.")
	}
	if c.User != "" {
		if err := c.checkUser(); err != nil {
			return e, err
		}
	}
	if err := c.mount(&e); err != nil {
		return e, err
	}
	for i, path := range c.Hide {
		if err := c.checkPath("hide/"+strconv.Itoa(i), path); err != nil {
			return e, err
		}
	}
	e.Hidden = sorted(c.Hide)
	for i, name := range c.Network {
		network, known := c.networks[name]
		if !known {
			return e, c.mistake("network/"+strconv.Itoa(i), "There is no network %q; %s", name, launch.ListNames(slices.Collect(maps.Keys(c.networks))))
		}
		e.Networks = append(e.Networks, network)
	}
	slices.SortFunc(e.Networks, func(a, b domain.Network) int { return strings.Compare(a.Name, b.Name) })
	return e, c.lend(&e)
}

// mount collects the mounts. They stand at their real paths: a link that leads elsewhere tomorrow must not show something else then.
func (c checker) mount(e *domain.Environment) error {
	places := map[string]string{} // path → its place in the definition
	add := func(place, path, access string) error {
		if domain.Access(access) != domain.AccessRead && domain.Access(access) != domain.AccessWrite {
			return c.mistake(place, "A mount is for read or for write, not %q.", access)
		}
		if path != "/" && (within(path, c.data) || within(c.data, path)) { // the worst of its reasons first
			return c.mistake(place, holdsData, path, c.data)
		}
		if err := c.checkPath(place, path); err != nil {
			return err
		}
		real, err := c.machine.Real(path)
		switch {
		case err != nil:
			return domain.Invalid(c.at+"/"+place, "There is no file or folder %s on this machine.", path).With(err)
		case within(real, c.data) || within(c.data, real):
			return c.mistake(place, holdsData, path, c.data)
		case real != path:
			return c.mistake(place, "%s is reached by a link, which may lead elsewhere tomorrow; write %s.", path, real)
		case domain.Access(access) == domain.AccessWrite && slices.ContainsFunc(systemFolders, func(folder string) bool { return within(real, folder) }):
			return c.mistake(place, "Who writes %s commands the whole machine; name the folders in it that a command may write.", path)
		case slices.ContainsFunc(c.Hide, func(hidden string) bool { return within(hidden, path) }):
			return c.mistake(place, "%s is mounted and hidden at once.", path)
		}
		places[path] = place
		e.Mounts = append(e.Mounts, domain.Mount{Path: path, Access: domain.Access(access)})
		return nil
	}
	for i, path := range c.Show {
		if err := add("show/"+strconv.Itoa(i), path, string(domain.AccessRead)); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.Mounts)) {
		if err := add("mounts"+domain.Pointer(path), path, c.Mounts[path]); err != nil {
			return err
		}
	}
	slices.SortFunc(e.Mounts, func(a, b domain.Mount) int { return strings.Compare(a.Path, b.Path) })
	for i, inner := range e.Mounts {
		for _, outer := range e.Mounts[:i] {
			if within(outer.Path, inner.Path) {
				return c.mistake(places[inner.Path], "%s lies in %s, which is mounted already; say what may be done with each file once.", inner.Path, outer.Path)
			}
		}
	}
	return nil
}

const holdsData = "%s holds or is the server's data folder %s, or lies in it: a command that reads it could approve its own calls."

func (c checker) checkPath(place, path string) error {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path:
		return c.mistake(place, "%q is not an absolute path in its shortest form.", path)
	case path == "/":
		return c.mistake(place, "The whole machine cannot be mounted; name the folders that a command needs, or choose view: machine.")
	case slices.ContainsFunc(kernelFolders, func(folder string) bool { return within(folder, path) }):
		return c.mistake(place, "%s is not shown in an isolated environment: its sockets and devices lead out of the isolation.", path)
	}
	return nil
}

// systemFolders have programs and settings that root obeys.
var systemFolders = []string{"/bin", "/boot", "/etc", "/lib", "/root", "/sbin", "/usr", "/var/spool"}

// kernelFolders are those that lead out of every isolation, or that a command has of its own.
var kernelFolders = []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/tmp"}

// lend takes the credentials that the operator lends.
func (c checker) lend(e *domain.Environment) error {
	for _, variable := range slices.Sorted(maps.Keys(c.Files)) {
		at := c.at + "/files" + domain.Pointer(variable)
		if err := launch.CheckVariable(at, variable); err != nil {
			return err
		}
		path := c.Files[variable]
		if !filepath.IsAbs(path) || filepath.Clean(path) != path {
			return domain.Invalid(at, "%q is not an absolute path in its shortest form.", path)
		}
		switch real, err := c.machine.Real(path); {
		case err != nil:
			return domain.Invalid(at, "There is no file %s on this machine.", path).With(err)
		case within(c.data, real):
			return domain.Invalid(at, "%s lies in the server's data folder, which no command reads.", path)
		}
		e.Files[variable] = path
	}
	return nil
}

// patternSize bounds the patterns of command lines, in instructions.
const patternSize = 1000

func (c checker) mistake(field, format string, args ...any) error {
	return domain.Invalid(c.at+"/"+field, format, args...)
}

// NetworkDefinition is a private network, as the operator writes it.
type NetworkDefinition struct {
	Hosts []string `yaml:"hosts"`
	CIDRs []string `yaml:"cidrs"`
	Ports []int    `yaml:"ports"` // empty: 80 and 443
}

// widest is the shortest prefix of a private network that may be listed: 10.0.0.0/8 is the largest private one of IPv4.
const widest = 8

func (n NetworkDefinition) network(name string) (domain.Network, error) {
	network := domain.Network{Name: name, Hosts: sorted(n.Hosts), CIDRs: []string{}, Ports: []uint16{}}
	at := func(field string, i int) string { return domain.Pointer("networks", name, field, strconv.Itoa(i)) }
	if len(n.Hosts) == 0 {
		return network, domain.Invalid(domain.Pointer("networks", name), "A network names the hosts that it is about.")
	}
	for i, host := range n.Hosts {
		if host == "*" {
			return network, domain.Invalid(at("hosts", i), "A network names its hosts; * would be all of them.")
		}
		if !egress.Pattern(host) {
			return network, domain.Invalid(at("hosts", i), "%q is not a host name, an address, or *.name.", host)
		}
	}
	var cidrs []netip.Prefix
	for i, text := range n.CIDRs {
		cidr, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return network, domain.Invalid(at("cidrs", i), "%q is not a range of addresses such as 10.20.0.0/16.", text)
		case cidr != cidr.Masked():
			return network, domain.Invalid(at("cidrs", i), "%s has bits behind its prefix; the range is written %s.", text, cidr.Masked())
		case cidr.Addr().Is4In6():
			return network, domain.Invalid(at("cidrs", i), "%s is a range of IPv4 addresses in IPv6 notation; write it as IPv4.", text)
		case cidr.Bits() < widest:
			return network, domain.Invalid(at("cidrs", i), "%s is wider than /%d; name the networks that you mean.", text, widest)
		case cidr.Addr().IsLoopback():
			return network, domain.Invalid(at("cidrs", i), "%s is this machine itself. No environment reaches the server's own addresses.", text)
		}
		cidrs = append(cidrs, cidr)
	}
	slices.SortFunc(cidrs, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	for _, cidr := range cidrs {
		network.CIDRs = append(network.CIDRs, cidr.String())
	}
	for i, port := range n.Ports {
		if port < 1 || port > 65535 {
			return network, domain.Invalid(at("ports", i), "A port is a number from 1 to 65535.")
		}
		network.Ports = append(network.Ports, uint16(port))
	}
	if len(n.Ports) == 0 {
		network.Ports = []uint16{80, 443}
	}
	slices.Sort(network.Ports)
	network.Ports = slices.Compact(network.Ports)
	return network, nil
}

// sorted is never nil: null and an empty list would have two digests.
func sorted(all []string) []string {
	return append([]string{}, slices.Compact(slices.Sorted(slices.Values(all)))...)
}

// within reports whether path is folder or lies in it; both are absolute and clean.
func within(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

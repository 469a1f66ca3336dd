package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// Environment is what the commands and file tools of an execution see of the machine, and what they reach. It is a definition of the
// operator, narrowed by the request. Package environments makes it.
type Environment struct {
	Name      string            `json:"name"`
	View      View              `json:"view"`
	ReadOnly  bool              `json:"readOnly"`  // the workspace cannot be written either
	Mounts    []Mount           `json:"mounts"`    // on top of the view, sorted by path
	Hidden    []string          `json:"hidden"`    // absolute paths that the operator covers, sorted
	Processes Processes         `json:"processes"` // whose processes ps, top and pgrep show
	Networks  []Network         `json:"networks"`  // sorted by name
	Files     map[string]string `json:"files"`     // variable → the file that the operator lends, absolute
	Variables []string          `json:"variables"` // names of the server's variables that a command on the host is given, sorted
	User      string            `json:"user"`      // that commands run as; empty: the server's own, or the default of the view
	AsServer  bool              `json:"asServer"`  // commands on the host run as the server's own user
	Allow     []string          `json:"allow"`     // patterns of command lines that run on the host without a question

	Whole string `json:"-"` // the digest of the definition that a request has narrowed; empty where it has not

	// Clone is the clone in which the execution works; nil: it works in none. Its folder is shown as the working directory is, and the objects that it borrows
	// are shown read-only. It belongs to the execution and not to the definition, so the digest leaves it out.
	Clone *Clone `json:"-"`
}

// View is the part of the machine that an environment shows.
type View string

// Views.
const (
	ViewWorkspace View = "workspace" // the working directory and the programs of the system
	ViewMachine   View = "machine"   // besides, a list of the system's folders, read-only
	ViewHost      View = "host"      // everything: no isolation
)

// Mount is a file or folder of the machine, at its own path.
type Mount struct {
	Path   string `json:"path"` // absolute
	Access Access `json:"access"`
}

// Access is what a command may do with a mount.
type Access string

// Accesses.
const (
	AccessRead  Access = "read"
	AccessWrite Access = "write"
)

// Processes says whose processes a command sees.
type Processes string

// Processes that a command sees.
const (
	ProcessesOwn  Processes = "own"
	ProcessesHost Processes = "host" // by programs of Signoff's own; nothing can be signalled
)

// Network is a list of private hosts and addresses that an environment reaches.
type Network struct {
	Name  string   `json:"name"`
	Hosts []string `json:"hosts"` // names, addresses, *.name; sorted
	// CIDRs are the private addresses to which these names may lead, such as 10.20.0.0/16; sorted. They are strings, because package netip
	// would slow down the stages of a command that package early starts.
	CIDRs []string `json:"cidrs"`
	Ports []uint16 `json:"ports"` // sorted
}

// EnvironmentChoice is what a request says about its environment. It can only narrow what the operator has defined.
type EnvironmentChoice struct {
	Name     string   `json:"name,omitempty"` // empty: the default one
	ReadOnly bool     `json:"readOnly,omitempty"`
	Mounts   []string `json:"mounts,omitzero"`  // paths of the mounts that stay; absent: all of them
	Hosts    []string `json:"hosts,omitzero"`   // hosts of networks that stay; absent: all of them
	Digest   string   `json:"digest,omitempty"` // of the environment when the request was admitted; no request sets it
}

// EnvironmentStamp names an environment in an approval. The digest is that of the moment in which a person was asked.
type EnvironmentStamp struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// ApprovalEnvironment is an environment as a person is shown it who decides about a call. It is kept as it was when the person was asked.
type ApprovalEnvironment struct {
	EnvironmentStamp
	Risk     View     `json:"risk"`
	User     string   `json:"user"`     // that commands run as; empty: the server's own, or the default of the view
	AsServer bool     `json:"asServer"` // the call can approve its own calls
	Lends    []string `json:"lends"`    // the variables of the credentials that it is lent, sorted
}

// EnvironmentInfo is an environment as clients see it.
type EnvironmentInfo struct {
	Environment
	Default   bool    `json:"default"`
	Available bool    `json:"available"`
	Reason    *string `json:"reason"` // why it is not available
	Digest    string  `json:"digest"`
	Risk      View    `json:"risk"`
}

// Stamp names the environment as it was when the request was admitted; nil for a request that is older than environments.
func (c EnvironmentChoice) Stamp() *EnvironmentStamp {
	if c.Name == "" {
		return nil
	}
	return &EnvironmentStamp{Name: c.Name, Digest: c.Digest}
}

// UnmarshalJSON takes the name alone, too: "machine" is {"name": "machine"}.
func (c *EnvironmentChoice) UnmarshalJSON(data []byte) error {
	var name string
	if json.Unmarshal(data, &name) == nil {
		*c = EnvironmentChoice{Name: name}
		return nil
	}
	type plain EnvironmentChoice
	return json.Unmarshal(data, (*plain)(c))
}

// Stamp names the environment as it is now; nil for none.
func (e *Environment) Stamp() *EnvironmentStamp {
	if e == nil {
		return nil
	}
	return &EnvironmentStamp{Name: e.Name, Digest: e.Digest()}
}

// ForApproval is the environment as an approval shows it; nil for none.
func (e *Environment) ForApproval() *ApprovalEnvironment {
	if e == nil {
		return nil
	}
	return &ApprovalEnvironment{
		EnvironmentStamp: *e.Stamp(), Risk: e.Risk(), User: e.User, AsServer: e.AsServer,
		Lends: append([]string{}, slices.Sorted(maps.Keys(e.Files))...),
	}
}

// Stamp is the name and digest of an approval's environment; nil for none.
func (a *ApprovalEnvironment) Stamp() *EnvironmentStamp {
	if a == nil {
		return nil
	}
	return &a.EnvironmentStamp
}

// Same reports whether two names of environments are one; nil names none.
func (s *EnvironmentStamp) Same(other *EnvironmentStamp) bool {
	if s == nil || other == nil {
		return s == other
	}
	return *s == *other
}

// Risk is how much of the machine an environment exposes, in one word for people.
func (e Environment) Risk() View {
	if e.View != ViewHost && e.ShowsMore() {
		return ViewMachine
	}
	return e.View
}

// Isolated reports whether something runs isolated in the environment. The zero value is no environment.
func (e Environment) Isolated() bool { return e.View == ViewWorkspace || e.View == ViewMachine }

// ShowsMore reports whether commands see or reach more than the built-in workspace environment shows.
func (e Environment) ShowsMore() bool {
	return e.View != "" && e.View != ViewWorkspace || len(e.Mounts) > 0 || e.Processes == ProcessesHost || len(e.Networks) > 0 || len(e.Files) > 0
}

// Plain reports whether the environment is what every execution had before there were environments.
func (e Environment) Plain() bool {
	return e.View == ViewWorkspace && !e.ShowsMore() && !e.ReadOnly && len(e.Hidden) == 0 && e.User == ""
}

// Digest identifies the environment: SHA-256, in hex, of its JSON. It covers the definition and the request's narrowing. It does not
// cover the contents of files, the programs that are installed, or what the kernel can do, so that replicas agree on it.
func (e Environment) Digest() string {
	content, err := json.Marshal(e)
	if err != nil {
		panic(err) // every field has a JSON form
	}
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// Reaches reports whether a network of the environment lists the host and port by name. Where that leads decides [Environment.Opens].
func (e Environment) Reaches(covers func(patterns []string, host string) bool, host string, port uint16) bool {
	return slices.ContainsFunc(e.Networks, func(n Network) bool {
		return slices.Contains(n.Ports, port) && covers(n.Hosts, host)
	})
}

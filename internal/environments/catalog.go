package environments

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/egress"
	"signoff/internal/launch"
)

// Config is what the operator has written, and where the server keeps its data.
type Config struct {
	Default     string // the name of an environment; empty: workspace
	Definitions map[string]Definition
	Networks    map[string]NetworkDefinition
	Data        string // the server's data folder, absolute and without links
}

// Catalog knows the environments of this server. Its methods may be called by several goroutines at once.
type Catalog struct {
	byDefault    string
	environments map[string]domain.Environment
	unavailable  map[string]string // name → the reason
	offers       func(e domain.Environment, directory string) error

	machine Machine // of New
	data    string
}

// builtIn are the definitions that need no entry.
var builtIn = map[string]Definition{
	string(domain.ViewWorkspace): {View: string(domain.ViewWorkspace)},
	string(domain.ViewMachine):   {View: string(domain.ViewMachine)},
}

// New checks the definitions. Its errors point at their places in the operator's file.
func New(config Config, machine Machine) (*Catalog, error) {
	networks := map[string]domain.Network{}
	for _, name := range slices.Sorted(maps.Keys(config.Networks)) {
		if !launch.NameForm.MatchString(name) {
			return nil, badName("networks", name)
		}
		network, err := config.Networks[name].network(name)
		if err != nil {
			return nil, err
		}
		networks[name] = network
	}
	definitions := maps.Clone(builtIn)
	maps.Copy(definitions, config.Definitions)
	catalog := &Catalog{byDefault: string(domain.ViewWorkspace), environments: map[string]domain.Environment{}, unavailable: map[string]string{}, machine: machine, data: config.Data}
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		if !launch.NameForm.MatchString(name) || name == "default" {
			return nil, badName("environments", name)
		}
		c := checker{
			Definition: definitions[name], name: name, at: domain.Pointer("environments", name),
			networks: networks, machine: machine, data: config.Data,
		}
		environment, err := c.environment()
		if err != nil {
			return nil, err
		}
		catalog.environments[name] = environment
	}
	if config.Default != "" {
		catalog.byDefault = config.Default
	}
	if _, known := catalog.environments[catalog.byDefault]; !known {
		return nil, domain.Invalid("/environments/default", "There is no environment %q; %s", config.Default, catalog.names())
	}
	return catalog, nil
}

func badName(section, name string) error {
	return domain.Invalid(domain.Pointer(section, name), "%q cannot be a name here: a name begins with a letter and has letters, digits, - and _, at most 64.", name)
}

// Limit marks environments that this machine cannot build for executions in directory, with the reason for each. It is called once, before the first
// request.
func (c *Catalog) Limit(directory string, offers func(e domain.Environment, directory string) error) {
	c.offers = offers
	for name, environment := range c.environments {
		if err := offers(environment, directory); err != nil {
			c.unavailable[name] = sentence(err)
		}
	}
}

// Offers reports whether this machine can build an environment for executions in another directory than that of [Catalog.Limit]. The directory may
// belong to somebody as whom no command can write. The error is [domain.CodeEnvironmentUnavailable], and points at /workingDirectory.
func (c *Catalog) Offers(e domain.Environment, directory string) error {
	if c.offers == nil || !e.ShowsMore() {
		return nil
	}
	err := c.offers(e, directory)
	if err == nil {
		return nil
	}
	return domain.At("/workingDirectory", domain.Errorf(domain.CodeEnvironmentUnavailable, "The environment %s cannot be had in %s: %s", e.Name, directory, sentence(err)))
}

// Directories lists the folders beside the workspace in which an execution with this choice may work: the mounts that its environment may write,
// but for those that the choice leaves out. With readOnly they still count: the execution works there, and writes nothing. A choice that [Catalog.Choose]
// refuses has none.
func (c *Catalog) Directories(choice domain.EnvironmentChoice) []string {
	choice.ReadOnly = false
	narrowed, err := c.Choose(choice)
	if err != nil {
		return nil
	}
	var all []string
	for _, mount := range narrowed.Mounts {
		if mount.Access == domain.AccessWrite {
			all = append(all, mount.Path)
		}
	}
	return all
}

// sentence makes one of an error.
func sentence(err error) string {
	text := err.Error()
	var coded *domain.Error
	if errors.As(err, &coded) {
		text = coded.Message
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// All lists the environments, sorted by name.
func (c *Catalog) All() []domain.EnvironmentInfo {
	var all []domain.EnvironmentInfo
	for _, name := range slices.Sorted(maps.Keys(c.environments)) {
		e := c.environments[name]
		info := domain.EnvironmentInfo{Environment: e, Default: name == c.byDefault, Available: true, Digest: e.Digest(), Risk: e.Risk()}
		if reason, unavailable := c.unavailable[name]; unavailable {
			info.Available, info.Reason = false, &reason
		}
		all = append(all, info)
	}
	return all
}

// Default is the name of the environment of requests that name none.
func (c *Catalog) Default() string { return c.byDefault }

// Choose returns the environment of a request. Errors point below /environment: an unknown name or a path or host that the definition does not
// have is [domain.CodeInvalid], one that this machine cannot build is [domain.CodeEnvironmentUnavailable]. An environment that shows the workspace
// alone is never refused: its file tools work without isolation, and its commands are refused by themselves.
func (c *Catalog) Choose(choice domain.EnvironmentChoice) (domain.Environment, error) {
	name := choice.Name
	if name == "" {
		name = c.byDefault
	}
	environment, err := c.Defined(name)
	if err != nil {
		return environment, err
	}
	narrowed, err := narrow(environment, choice)
	if err != nil {
		return narrowed, err
	}
	narrowed.Whole = environment.Digest()
	if reason, unavailable := c.unavailable[name]; unavailable && environment.ShowsMore() {
		return narrowed, domain.At("/environment", domain.Errorf(domain.CodeEnvironmentUnavailable, "The environment %s cannot be had here: %s", name, reason))
	}
	return narrowed, nil
}

// Defined returns an environment as the operator has defined it, also one that this machine cannot build. An unknown name is
// [domain.CodeInvalid] at /environment, with the known ones.
func (c *Catalog) Defined(name string) (domain.Environment, error) {
	environment, known := c.environments[name]
	if !known {
		return environment, domain.Invalid("/environment", "There is no environment %q; %s", name, c.names())
	}
	return environment, nil
}

// Mounts checks mounts that belong to something else than an environment, by the same rules; at is the place in the file that has the field mounts.
func (c *Catalog) Mounts(at string, mounts map[string]string) ([]domain.Mount, error) {
	var e domain.Environment
	err := checker{Definition: Definition{Mounts: mounts}, at: at, machine: c.machine, data: c.data}.mount(&e)
	return e.Mounts, err
}

// names ends a sentence about a name that is none.
func (c *Catalog) names() string { return launch.ListNames(slices.Collect(maps.Keys(c.environments))) }

// narrow takes away what the request does not want. It adds nothing, so that a request never gets more than its definition shows.
func narrow(e domain.Environment, choice domain.EnvironmentChoice) (domain.Environment, error) {
	if e.View == domain.ViewHost && (choice.ReadOnly || choice.Mounts != nil || choice.Hosts != nil) {
		return e, domain.Invalid("/environment", "The environment %s has no isolation, so nothing in it can be narrowed.", e.Name)
	}
	if choice.Mounts != nil {
		if err := onlyKnown("/environment/mounts", choice.Mounts, "mount", pathsOf(e.Mounts)); err != nil {
			return e, err
		}
		e.Mounts = slices.DeleteFunc(slices.Clone(e.Mounts), func(m domain.Mount) bool { return !slices.Contains(choice.Mounts, m.Path) })
	}
	if choice.Hosts != nil {
		var all []string
		for _, network := range e.Networks {
			all = append(all, network.Hosts...)
		}
		if err := onlyCovered(choice.Hosts, all); err != nil {
			return e, err
		}
		e.Networks = narrowNetworks(e.Networks, choice.Hosts)
	}
	if choice.ReadOnly {
		e.ReadOnly = true
		e.Mounts = slices.Clone(e.Mounts)
		for i := range e.Mounts {
			e.Mounts[i].Access = domain.AccessRead
		}
	}
	return e, nil
}

func pathsOf(mounts []domain.Mount) []string {
	var paths []string
	for _, m := range mounts {
		paths = append(paths, m.Path)
	}
	return paths
}

func onlyKnown(at string, wanted []string, noun string, known []string) error {
	for i, one := range wanted {
		if !slices.Contains(known, one) {
			return domain.Invalid(at+"/"+strconv.Itoa(i), "The environment has no %s %q; %s", noun, one, launch.ListNames(slices.Clone(known)))
		}
	}
	return nil
}

// onlyCovered allows a host that a pattern of the definition covers, beside the patterns themselves.
func onlyCovered(wanted, patterns []string) error {
	for i, host := range wanted {
		below, isWild := strings.CutPrefix(host, "*.")
		covered := slices.Contains(patterns, host) || !isWild && egress.Covers(patterns, host) || isWild && egress.Covers(patterns, "any."+below)
		if !covered {
			return domain.Invalid("/environment/hosts/"+strconv.Itoa(i), "The environment does not reach %q; %s", host, launch.ListNames(slices.Clone(patterns)))
		}
	}
	return nil
}

// narrowNetworks keeps of each network the wanted hosts that it covers. A network without any is left out.
func narrowNetworks(networks []domain.Network, wanted []string) []domain.Network {
	kept := []domain.Network{}
	for _, network := range networks {
		var hosts []string
		for _, host := range wanted {
			if onlyCovered([]string{host}, network.Hosts) == nil {
				hosts = append(hosts, host)
			}
		}
		if len(hosts) > 0 {
			network.Hosts = sorted(hosts)
			kept = append(kept, network)
		}
	}
	return kept
}

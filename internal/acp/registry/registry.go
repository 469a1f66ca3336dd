package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"signoff/internal/acp"
	"signoff/internal/acp/settings"
	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
)

// Registry knows the external agents and opens them. Its methods may be called at once from several goroutines.
type Registry struct {
	config  Config
	rows    map[string]*row // by canonical name
	servers *mcp.Catalog
	probes  map[string]*probe[string] // for the versions
	offers  map[string]*probe[offered]
	ctx     context.Context // of the probes
	cancel  context.CancelFunc
	probing sync.WaitGroup
}

// NewRegistry checks config. It starts nothing and makes no folder.
func New(config Config) (*Registry, error) {
	config.Logger = cmp.Or(config.Logger, slog.Default())
	home := HomeShared
	if config.PrivateHomes {
		home = HomePrivate
	}
	all, err := rows(config.Agents, home)
	if err != nil {
		return nil, err
	}
	servers, err := mcp.NewCatalog(config.MCPServers, config.Lookup)
	if err != nil {
		return nil, err
	}
	if config.DataDir, err = filepath.Abs(config.DataDir); err != nil {
		return nil, err
	}
	r := &Registry{config: config, rows: all, servers: servers, probes: map[string]*probe[string]{}, offers: map[string]*probe[offered]{}}
	for _, row := range r.sorted() {
		if err := row.judgeBypasses(config.Lookup, config.Logger); err != nil {
			return nil, err
		}
		row.warnOfOwnMode(config.Logger)
		r.probes[row.name], r.offers[row.name] = &probe[string]{}, &probe[offered]{}
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

// Close ends what is being asked for. Agents that are open are not its own.
func (r *Registry) Close() {
	r.cancel()
	r.probing.Wait()
}

func (r *Registry) sorted() []*row {
	return slices.SortedFunc(maps.Values(r.rows), func(a, b *row) int { return strings.Compare(a.name, b.name) })
}

// Names lists the agents, sorted.
func (r *Registry) Names() []string {
	var names []string
	for _, row := range r.sorted() {
		names = append(names, row.name)
	}
	return names
}

// Resolve returns the registered name of what a request wants to be run: an agent's name in any spelling, or its program
// as the registry has it, by path or base name. Arguments are those of the registry word for word, or none. A
// request never decides what is run.
func (r *Registry) Resolve(command string, args []string) (string, error) {
	if row := r.rows[canonical(command)]; row != nil {
		if len(args) > 0 && !slices.Equal(args, row.Args) {
			return "", unknown("/source/args", "Agent %q is not run with these arguments; its own are in the registry, so leave "+
				"them out.", row.name)
		}
		return row.name, nil
	}
	var found []string
	for _, row := range r.sorted() {
		if r.runs(row, command) && (len(args) == 0 || slices.Equal(args, row.Args)) {
			found = append(found, row.name)
		}
	}
	if len(found) != 1 {
		return "", unknown("/source/command", "There is no agent %q; %s", command, launch.ListNames(r.Names()))
	}
	return found[0], nil
}

// runs tells whether command is the program of the row.
func (r *Registry) runs(row *row, command string) bool {
	return command == row.Command || command == filepath.Base(row.Command) ||
		filepath.IsAbs(command) && command == r.findProgram(row.Command)
}

func unknown(pointer, format string, args ...any) error {
	e := domain.Errorf(domain.CodeUnknownAgent, format, args...)
	e.Details = []domain.Detail{{Pointer: pointer, Message: e.Message}}
	return e
}

// MCPServers tells whether all names are in the registry.
func (r *Registry) MCPServers(names []string) error {
	_, err := r.servers.Choose(names)
	return err
}

// Open starts the agent of an execution. Whatever stands in its request has been through Resolve and MCPServers, maybe
// by a server with another registry: all of it is looked at again.
func (r *Registry) Open(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
	source := opening.Execution.Request.Source
	row := r.rows[canonical(source.Command)]
	if row == nil {
		return nil, unknown("/source/command", "There is no agent %q; %s", source.Command, launch.ListNames(r.Names()))
	}
	selections := append(row.selections(), settings.SourceSelections(source)...)
	for i, options := range opening.Options {
		selections = append(selections, settings.Selections(options, "/options", settings.LevelPrompts+i)...)
	}
	if err := row.checkWords(selections); err != nil {
		return nil, err
	}
	l, err := r.launch(row, opening.Execution.Request)
	if err != nil {
		return nil, err
	}
	l.Selections = selections
	l.Offered = func(offers settings.Offers) { r.learnOffers(row, l.Process.Argv[0], offers) }
	return acp.Open(ctx, l, opening)
}

// selections are those of the registry, for an execution that does not say otherwise.
func (r *row) selections() (all []settings.Selection) {
	for _, said := range []struct{ option, value string }{{settings.CategoryMode, r.mode()}, {settings.CategoryModel, r.Model}} {
		if said.value != "" {
			all = append(all, settings.Selection{Option: said.option, Value: said.value, Pointer: "/source/" + said.option, Level: settings.LevelRegistry})
		}
	}
	return all
}

// Check tells whether an execution may have this source, as far as that is known without starting its agent, whose name
// is resolved: its program is there, and what the request selects is no mode that asks nobody, and is offered where the
// offers are known.
func (r *Registry) Check(source domain.Source) error {
	if err := r.Installed(source.Command); err != nil {
		return err
	}
	row := r.rows[canonical(source.Command)]
	selections := settings.SourceSelections(source)
	if _, err := (&settings.Settings{}).Effective(selections); err != nil {
		return err
	}
	if err := row.checkWords(selections); err != nil {
		return err
	}
	if offers := r.knownOffers(row); offers != nil {
		return row.checkOffered(slices.Concat(row.selections(), selections), offers.Options)
	}
	return nil
}

// CheckOptions tells whether a further prompt may set options of the agent of an execution, which has offered these; nil: it has
// not said, and then what is known of it without the execution counts.
func (r *Registry) CheckOptions(source domain.Source, options map[string]string, offered []domain.AgentOption) error {
	row := r.rows[canonical(source.Command)]
	if row == nil {
		return nil // the execution is of a server with another registry
	}
	selections := settings.Selections(options, "/options", settings.LevelPrompts)
	if err := row.checkWords(selections); err != nil {
		return err
	}
	if offered != nil {
		return row.checkOffered(selections, offered)
	}
	if offers := r.knownOffers(row); offers != nil {
		return row.checkOffered(slices.Concat(row.selections(), settings.SourceSelections(source), selections), offers.Options)
	}
	return nil
}

// Installed is [domain.CodeAgentUnavailable] where the program of a registered agent is not there; the message says how
// to install it, where that is known.
func (r *Registry) Installed(name string) error {
	if row := r.rows[canonical(name)]; row != nil {
		return r.installed(row)
	}
	return unknown("/source/command", "There is no agent %q; %s", name, launch.ListNames(r.Names()))
}

func (r *Registry) installed(row *row) error {
	if r.findProgram(row.Command) != "" {
		return nil
	}
	return domain.Errorf(domain.CodeAgentUnavailable, "Agent %q cannot be started. %s", row.name, row.notInstalled())
}

// launch gathers what the agent is started with.
func (r *Registry) launch(row *row, request domain.Request) (acp.Config, error) {
	if err := r.installed(row); err != nil {
		return acp.Config{}, err
	}
	program := r.findProgram(row.Command)
	chosen, err := r.servers.Choose(request.MCPServers)
	if err != nil {
		return acp.Config{}, err
	}
	var withheld []string
	if request.Capabilities.Of(domain.ClassMCP) == domain.Deny { // most agents do not ask before they use a tool of theirs
		withheld, chosen = slices.Sorted(maps.Keys(chosen)), nil
	}
	servers, err := r.servers.Resolve(chosen)
	if err != nil {
		return acp.Config{}, err
	}
	home, err := r.prepareHome(row)
	if err != nil {
		return acp.Config{}, err
	}
	env := r.environment(row, home)
	folder, err := r.writeGuard(row, env, len(servers) > 0)
	if err != nil {
		return acp.Config{}, err
	}
	return acp.Config{
		Name: row.name,
		Process: sandbox.Process{
			Argv: append([]string{program}, row.Args...),
			Dir:  cmp.Or(folder, request.WorkingDirectory),
			Env:  lines(env),
		},
		Starter: r.config.Starter,
		Judge:   row.judge,
		Files:   row.FileSystem, Terminals: row.Terminal,
		McpServers:  servers,
		Withheld:    withheld,
		Meta:        json.RawMessage(row.meta),
		Admissions:  row.admissible(env),
		SilentAfter: row.SilentAfter, StartTimeout: row.StartTimeout,
		Mask:          r.masker(row, chosen).Mask,
		Masker:        r.config.Masker,
		ClientVersion: r.config.Version,
	}, nil
}

// admissible are the ways to sign in that the agent has a key for.
func (r *row) admissible(env map[string]string) (methods []string) {
	for _, way := range r.admissions {
		if env[way.variable] != "" {
			methods = append(methods, way.method)
		}
	}
	return methods
}

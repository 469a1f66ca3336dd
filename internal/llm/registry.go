package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm/mcptools"
	"signoff/internal/llm/provider"
	"signoff/internal/runbooks"
	"signoff/internal/tools"
)

// Registry knows the models and opens agents. Its methods may be called at once from several goroutines.
type Registry struct {
	config     Config
	tools      *tools.Registry
	toolsets   *toolsets
	candidates map[string]*candidate // by model name; so are the probes
	probes     map[string]*probe
}

// NewRegistry checks config. It connects to nothing.
func NewRegistry(config Config, known *tools.Registry) (*Registry, error) {
	config = config.withDefaults()
	r := &Registry{
		config: config, tools: known, toolsets: &toolsets{known: known, made: map[string]*toolset{}},
		candidates: map[string]*candidate{}, probes: map[string]*probe{},
	}
	setup := provider.Setup{Transport: config.Transport, IdleTimeout: config.IdleTimeout, Masker: config.Masker, Pace: config.Pace}
	for name, entry := range config.Models {
		entry.Name = name
		model, of, err := checked(entry)
		if err != nil {
			return nil, err
		}
		opened := newCandidate(model, of, setup)
		r.candidates[name], r.probes[name] = opened, &probe{client: opened.client}
	}
	if _, known := r.candidates[config.Default]; !known {
		return nil, domain.Invalid("/models/default", "the default model %q is not among the models", config.Default)
	}
	return r, nil
}

// Names lists the models, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.candidates)) }

// Default is the name of the model for requests that name none. Their executions are created with that name, and keep it when another model becomes
// the default.
func (r *Registry) Default() string { return r.config.Default }

// Has reports whether name is a model.
func (r *Registry) Has(name string) bool {
	_, known := r.candidates[name]
	return known
}

// Open returns the agent of an execution. It connects to nothing: a provider that does not answer shows in Prompt.
func (r *Registry) Open(ctx context.Context, opening domain.Opening) (domain.Agent, error) {
	execution := opening.Execution
	candidates, err := r.candidatesOf(execution.Request.Source)
	if err != nil {
		return nil, err
	}
	granted, err := r.toolsets.of(execution.Request)
	if err != nil {
		return nil, err
	}
	granted = r.delegating(ctx, execution, granted)
	a := r.agentOf(execution, candidates, granted)
	if a.servers, err = newServers(r.config.Servers, opening, granted, a.mask); err != nil {
		return nil, err
	}
	return a, nil
}

// delegating adds the list of agents to the toolset of an execution that delegates. The list stays the same until the agent is opened again, so that the
// model's provider can cache the tools. If the list cannot be read, the model can ask an agent that it knows by name, or learn the names from the refusal
// of another one.
func (r *Registry) delegating(ctx context.Context, execution domain.Execution, granted *toolset) *toolset {
	if _, delegates := granted.lookup(domain.DelegateTool); !delegates || r.config.Delegates == nil {
		return granted
	}
	options, err := r.config.Delegates.DelegateOptions(ctx, execution)
	if err != nil {
		r.config.Logger.WarnContext(ctx, "an agent is not told whom it can ask", "executionId", execution.ID, "error", err)
		return granted
	}
	return granted.delegating(options)
}

// agentOf returns an agent with these models and tools.
func (r *Registry) agentOf(execution domain.Execution, candidates []*candidate, granted *toolset) *agent {
	retry := r.config.Retry // also of what was created before a request had this setting
	if set := execution.Request.Retry; set != nil {
		retry = time.Duration(set.ForSeconds) * time.Second
	}
	return &agent{
		execution: execution,
		tools:     granted,
		mask:      mask{r.config.Masker},
		logger:    r.config.Logger,
		retry:     retry,
		patience:  r.config.Patience,

		models:       lineup{candidates: candidates},
		account:      account{total: bill{usage: execution.Usage}},
		conversation: conversation{mask: mask{r.config.Masker}, generates: execution.Request.Kind == domain.KindGeneration},
	}
}

// Describe tells what a call of an execution would do: of a tool that every execution may have, of one that its request declares
// for its client, or of one of its MCP servers, as far as its name says it.
func (r *Registry) Describe(request domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	if call, is := mcptools.Describe(tool, arguments, request.MCPServers); is && !declares(request, tool) {
		return call, tools.CheckForeign(arguments, nil)
	}
	if _, ours := r.tools.Lookup(tool); !ours || runbooks.ClientMayRun(request, tool) {
		if granted, err := r.toolsets.of(request); err == nil {
			if _, declared := granted.lookup(tool); declared {
				return granted.describe(tool, arguments, request.WorkingDirectory)
			}
		}
	}
	return r.tools.Describe(tool, arguments, request.WorkingDirectory)
}

func declares(request domain.Request, name string) bool {
	return slices.ContainsFunc(request.ClientTools, func(tool domain.ClientTool) bool { return tool.Name == name })
}

// candidatesOf are the source's model and its fallbacks, each once: a model that has failed for good would fail again. One without its key, or whose entry
// is gone from the file since the execution was created, is an error only if no other can be asked. Then the execution waits until somebody mends the file.
func (r *Registry) candidatesOf(source domain.Source) ([]*candidate, error) {
	var (
		list    []*candidate
		missing *domain.Error
		usable  bool
	)
	for _, name := range append([]string{source.Model}, source.Fallbacks...) {
		found, known := r.candidates[name]
		if !known {
			missing = cmp.Or(missing, domain.Errorf(domain.CodeUnknownModel, "There is no model %q; there are: %s.", name, strings.Join(r.Names(), ", ")))
			continue
		}
		if slices.Contains(list, found) {
			continue
		}
		list = append(list, found)
		if without, lacks := found.client.(keyless); lacks {
			missing = cmp.Or(missing, without.missing())
		} else {
			usable = true
		}
	}
	if !usable {
		return nil, unavailable(missing)
	}
	return list, nil
}

// Close lets go of idle connections.
func (r *Registry) Close() { (&http.Client{Transport: r.config.Transport}).CloseIdleConnections() }

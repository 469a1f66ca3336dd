package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/runbooks"
	"signoff/internal/tools"
)

// Registry knows the models and opens agents. Its methods may be called at once from several goroutines.
type Registry struct {
	config Config
	tools  *tools.Registry
	probes map[string]*probe // by model name
}

// NewRegistry checks config. It connects to nothing.
func NewRegistry(config Config, known *tools.Registry) (*Registry, error) {
	config, err := config.normalized()
	if err != nil {
		return nil, err
	}
	r := &Registry{config: config, tools: known, probes: map[string]*probe{}}
	for name, model := range config.Models {
		r.probes[name] = &probe{model: model, transport: config.Transport}
	}
	return r, nil
}

// Names lists the models, sorted.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.config.Models)) }

// Default is the name of the model for executions that name none.
func (r *Registry) Default() string { return r.config.Default }

// Has tells whether name is a model; the empty name is the default.
func (r *Registry) Has(name string) bool {
	_, known := r.config.Models[r.resolve(name)]
	return known
}

func (r *Registry) resolve(name string) string {
	if name == "" {
		return r.config.Default
	}
	return name
}

// Open returns the agent of an execution. It connects to nothing: a provider that does not answer shows in Prompt.
func (r *Registry) Open(_ context.Context, opening domain.Opening) (domain.Agent, error) {
	execution := opening.Execution
	candidates, err := r.candidates(execution.Request.Source)
	if err != nil {
		return nil, err
	}
	granted, err := newToolset(r.tools, execution.Request)
	if err != nil {
		return nil, err
	}
	return &agent{
		candidates: candidates,
		tools:      granted,
		mask:       mask{r.config.Masker},
		logger:     r.config.Logger,
		execution:  execution,
		bill:       bill{usage: execution.Usage},
		shortened:  map[string]bool{},
		trimmed:    map[string]int{},
	}, nil
}

// Describe tells what a call of an execution would do: of a tool that every execution may have, or of one that its request declares
// for its client.
func (r *Registry) Describe(request domain.Request, tool string, arguments json.RawMessage) (domain.ToolCall, error) {
	if _, ours := r.tools.Lookup(tool); !ours || runbooks.ClientMayRun(request, tool) {
		if granted, err := newToolset(r.tools, request); err == nil {
			if _, declared := granted.lookup(tool); declared {
				return granted.describe(tool, arguments, request.WorkingDirectory)
			}
		}
	}
	return r.tools.Describe(tool, arguments, request.WorkingDirectory)
}

// candidates are the source's model and its fallbacks, each once: a model that has failed for good would fail again.
// One without its key is an error only where no other could be asked.
func (r *Registry) candidates(source domain.Source) ([]candidate, error) {
	var (
		list    []candidate
		missing *domain.Error
		usable  bool
	)
	for _, name := range append([]string{source.Model}, source.Fallbacks...) {
		name = r.resolve(name)
		model, known := r.config.Models[name]
		if !known {
			return nil, domain.Errorf(domain.CodeUnknownModel, "There is no model %q; there are: %s.",
				name, strings.Join(r.Names(), ", "))
		}
		if slices.ContainsFunc(list, func(c candidate) bool { return c.name == name }) {
			continue
		}
		if !model.missingKey() {
			list, usable = append(list, candidate{name: name, model: model, provider: r.provider(name, model)}), true
			continue
		}
		failure := domain.Errorf(domain.CodeModelNotConfigured,
			"Model %q has no key: the environment variable %s is empty.", name, model.APIKeyEnv)
		list, missing = append(list, candidate{name: name, model: model, provider: keyless{failure}}), cmp.Or(missing, failure)
	}
	if !usable {
		return nil, missing
	}
	return list, nil
}

func (r *Registry) provider(name string, model Model) provider {
	switch model.Provider {
	case ProviderDemo:
		return demo{pace: r.config.DemoPace}
	case ProviderAnthropic:
		return newAnthropic(name, model, r.config)
	default:
		return newOpenAI(name, model, r.config)
	}
}

// Close lets go of idle connections.
func (r *Registry) Close() { (&http.Client{Transport: r.config.Transport}).CloseIdleConnections() }

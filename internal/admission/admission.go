package admission

import (
	"bytes"
	"context"
	"encoding/json"

	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/runbooks/template"
)

// Executions reads executions. One of another tenant is domain.CodeNotFound.
type Executions interface {
	Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error)
	// ExecutionByKey returns the execution that was created with an idempotency key, PromptByKey the prompt that was sent with one.
	ExecutionByKey(ctx context.Context, tenant domain.TenantID, key string) (e domain.Execution, bodyHash []byte, err error)
	PromptByKey(ctx context.Context, execution domain.ExecutionID, key string) (p domain.QueuedPrompt, bodyHash []byte, err error)
	// EventPage returns the events behind a seq, up to limit and about maxBytes, and at least one if there is any.
	EventPage(ctx context.Context, execution domain.ExecutionID, after int64, limit, maxBytes int) ([]domain.Event, error)
	// AgentOptions returns the options that the agent offered last; nil: it has offered none yet.
	AgentOptions(ctx context.Context, execution domain.ExecutionID) ([]domain.AgentOption, error)
}

// Models is the registry of models.
type Models interface {
	Has(name string) bool
	Names() []string
	Default() string         // empty: none
	Priced(name string) bool // the cost of a request is known
	// CheckSettings is domain.CodeInvalid for a setting that one of the source's models does not take. The pointers begin with pointer.
	CheckSettings(source domain.Source, pointer string) error
	// Entry returns the provider of a model, and the provider's name for it; empty: it has none.
	Entry(name string) (provider, model string)
	// CheckParts is domain.CodeInvalid for a picture or file that one of the source's models is not sent. The pointers begin with pointer.
	CheckParts(source domain.Source, pointer string, parts []domain.PromptPart) error
}

// Agents is the registry of external agents.
type Agents interface {
	Names() []string
	// Resolve returns the registered name of a command; nil arguments are the registry's. A command that is not in the registry word for word
	// is domain.CodeUnknownAgent, and the message lists the names.
	Resolve(command string, args []string) (name string, err error)
	// Check checks a source with a resolved command. A missing program is domain.CodeAgentUnavailable; an option that the agent does not offer
	// is domain.CodeInvalid with the offers, if these are known.
	Check(source domain.Source) error
	// CheckOptions checks the options of a further prompt against those that the agent has offered; nil: unknown. An option that it does not
	// offer is domain.CodeInvalid with the offers.
	CheckOptions(source domain.Source, options map[string]string, offered []domain.AgentOption) error
	// Environment is the name of the environment that an agent runs in; empty: it is not isolated.
	Environment(name string) string
	// Installed is domain.CodeAgentUnavailable if the program of a registered agent is missing.
	Installed(name string) error
	// CheckParts is domain.CodeInvalid for a picture or file that the agent has not declared to take in a prompt. The pointers begin with pointer.
	// An agent that has to be started to say so, and cannot be, is domain.CodeAgentUnavailable.
	CheckParts(ctx context.Context, source domain.Source, pointer string, parts []domain.PromptPart) error
}

// Tools is the registry of the internal agent's tools.
type Tools interface {
	Names() []string
	// Missing says why this server cannot offer a tool that it knows; empty: it offers the tool, or knows none of this name.
	Missing(name string) string
	// OfMCPServers reports whether the name is one that a tool of these MCP servers can have, or stands for several of their tools.
	OfMCPServers(name string, servers []string) bool
}

// MCPServers is the registry of MCP servers.
type MCPServers interface {
	// Names are the servers that a tenant may use.
	Names(tenant domain.TenantID) []string
}

// Secrets is the registry of secrets for commands. An unknown one is domain.CodeUnknownSecret; the message lists the known ones.
type Secrets interface {
	Check(names []string) error
}

// Masker replaces the values of secrets in a text, or in the strings of a JSON document.
type Masker interface {
	MaskString(text string) string
	JSON(document json.RawMessage) json.RawMessage
}

// Templates renders templates of clients.
type Templates interface {
	// Render renders templates with the same variables, a JSON object. A template that fails is domain.CodeInvalid, with the template's
	// name as the pointer if it is known. A tenant that renders much waits for its own templates; after a while that is
	// domain.CodeUnavailable.
	Render(ctx context.Context, tenant domain.TenantID, variables json.RawMessage, templates ...template.Template) ([]template.Rendered, error)
}

// Workspace resolves the folder of a request. An empty name is the default root. Beside the workspace, the folder may lie in one of the mounts.
type Workspace interface {
	Resolve(directory string, mounts ...string) (absolute string, err error)
	InDefault(absolute string) bool // it lies in the default root
	RootOf(absolute string) string  // the root in which the path lies; empty: it lies in none, or is hidden
}

// Environments is the catalog of environments. An unknown name, and a path or host that the definition does not have, is domain.CodeInvalid; an
// environment that this machine cannot build is domain.CodeEnvironmentUnavailable.
type Environments interface {
	Choose(choice domain.EnvironmentChoice) (domain.Environment, error)
	Defined(name string) (domain.Environment, error) // also one that this machine cannot build
	Default() string
	Directories(choice domain.EnvironmentChoice) []string          // folders beside the workspace in which an execution may work
	Offers(environment domain.Environment, directory string) error // in another directory than the default root
}

// Config holds the registries and the operator's settings. All fields but the settings are required.
type Config struct {
	Executions Executions
	Models     Models
	Agents     Agents
	Tools      Tools
	Secrets    Secrets
	Masker     Masker
	Templates  Templates
	Workspace  Workspace
	Files      Files
	Settings   Settings
	MCPServers MCPServers
	Profiles   Profiles

	DailyBudgets map[domain.TenantID]domain.SharedBudget // of tenants that have one

	Environments Environments
	Folders      Folders

	NoCheckpoints string // why this server takes no checkpoints; empty: it takes them
}

// Admission admits requests. It has no state, so any number of goroutines may use it at once.
type Admission struct{ config Config }

// New returns an admission. Defaults replace settings that are not set.
func New(config Config) *Admission {
	config.Settings = config.Settings.withDefaults()
	return &Admission{config}
}

// Settings returns the operator's settings, with defaults for those that are not set.
func (a *Admission) Settings() Settings { return a.config.Settings }

// execution reads an execution of the tenant.
func (a *Admission) execution(ctx context.Context, by keys.Principal, id string) (domain.Execution, error) {
	known, err := domain.ParseExecutionID(id)
	if err != nil {
		return domain.Execution{}, err
	}
	return a.config.Executions.Execution(ctx, by.Tenant, known)
}

// RefuseSecrets refuses secrets in a part of a body that must not be masked, because masking would change its meaning: a rule that denies would
// match nothing, and a person would approve another command than the one that runs.
func (a *Admission) RefuseSecrets(pointer string, part any) error {
	encoded := domain.Encode(part)
	if bytes.Equal(a.config.Masker.JSON(encoded), encoded) {
		return nil
	}
	return domain.Invalid(pointer, "This holds the value of a secret, or what looks like one; name the secret instead.")
}

package admission

import (
	"bytes"
	"context"
	"encoding/json"

	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/runbooks/template"
)

// Executions reads what is stored. What belongs to another tenant is domain.CodeNotFound.
type Executions interface {
	Execution(ctx context.Context, tenant domain.TenantID, id domain.ExecutionID) (domain.Execution, error)
	// ExecutionByKey is the execution that was created under an idempotency key, and PromptByKey the prompt that was sent under one.
	ExecutionByKey(ctx context.Context, tenant domain.TenantID, key string) (e domain.Execution, bodyHash []byte, err error)
	PromptByKey(ctx context.Context, execution domain.ExecutionID, key string) (p domain.QueuedPrompt, bodyHash []byte, err error)
	// EventPage gives the events after one, up to limit and about maxBytes, and at least one where there is one.
	EventPage(ctx context.Context, execution domain.ExecutionID, after int64, limit, maxBytes int) ([]domain.Event, error)
	// AgentOptions are the options that the agent offered last; nil: it has offered none yet.
	AgentOptions(ctx context.Context, execution domain.ExecutionID) ([]domain.AgentOption, error)
}

// Models is the registry of models.
type Models interface {
	Has(name string) bool
	Names() []string
	Default() string         // empty: none
	Priced(name string) bool // what a request costs is known
}

// Agents is the registry of external agents, and of the MCP servers that they may be given.
type Agents interface {
	// Resolve returns the registered name of the command that a request names; nil arguments are the registry's. A command that is not in
	// the registry word for word is domain.CodeUnknownAgent, and the message lists the names.
	Resolve(command string, args []string) (name string, err error)
	// Check tells whether an execution may have this source, whose command is resolved: an agent whose program is not there is
	// domain.CodeAgentUnavailable, a choice that the agent does not offer domain.CodeInvalid with the offers, where these are known.
	Check(source domain.Source) error
	// CheckOptions tells whether a further prompt may set options of the agent of a source, which has offered these; nil: it has
	// not said. An option that it does not offer is domain.CodeInvalid with the offers.
	CheckOptions(source domain.Source, options map[string]string, offered []domain.AgentOption) error
	// Installed is domain.CodeAgentUnavailable where the program of a registered agent is not there.
	Installed(name string) error
	// MCPServers is domain.CodeUnknownMCPServer where a name is not in the registry; the message lists those that are.
	MCPServers(names []string) error
}

// Tools is the registry of the internal agent's tools.
type Tools interface {
	Names() []string
}

// Secrets says which secrets commands may be given. An unknown one is domain.CodeUnknownSecret; the message lists those
// that there are.
type Secrets interface {
	Check(names []string) error
}

// Masker takes the values of secrets out of a text, or of the strings of a JSON document.
type Masker interface {
	MaskString(text string) string
	JSON(document json.RawMessage) json.RawMessage
}

// Templates renders what clients wrote.
type Templates interface {
	// Render fills templates in, all with the same variables, a JSON object. The first that cannot be rendered is the error,
	// domain.CodeInvalid, which points to the template's name where it can be told which one it is. A tenant that renders
	// much waits for itself, and is domain.CodeUnavailable where that takes too long.
	Render(ctx context.Context, tenant domain.TenantID, variables json.RawMessage, templates ...template.Template) ([]template.Rendered, error)
}

// Workspace finds the folder that a request names. An empty name is the root.
type Workspace interface {
	Resolve(directory string) (absolute string, err error)
}

// Config holds the registries that requests are checked against, and the operator's settings. All but the settings must be set.
type Config struct {
	Executions Executions
	Models     Models
	Agents     Agents
	Tools      Tools
	Secrets    Secrets
	Masker     Masker
	Templates  Templates
	Workspace  Workspace
	Settings   Settings
}

// Admission admits requests. It keeps nothing between them, so any number of goroutines may use it at once.
type Admission struct{ config Config }

// New returns an admission with the defaults in the place of settings that are not set.
func New(config Config) *Admission {
	config.Settings = config.Settings.filled()
	return &Admission{config}
}

// Settings returns the operator's settings, with the defaults in the place of those that are not set.
func (a *Admission) Settings() Settings { return a.config.Settings }

// execution reads the execution that a request names.
func (a *Admission) execution(ctx context.Context, by keys.Principal, id string) (domain.Execution, error) {
	known, err := domain.ParseExecutionID(id)
	if err != nil {
		return domain.Execution{}, err
	}
	return a.config.Executions.Execution(ctx, by.Tenant, known)
}

// RefuseSecrets refuses a secret in a part of a body that counts letter by letter. It cannot be stored as it is, and masked it would mean
// something else: a rule that denies would match nothing, and a person would sign for a command that is not the one that runs.
func (a *Admission) RefuseSecrets(pointer string, part any) error {
	said := domain.Encode(part)
	if bytes.Equal(a.config.Masker.JSON(said), said) {
		return nil
	}
	return domain.Invalid(pointer, "This holds the value of a secret, or what looks like one; name the secret instead.")
}

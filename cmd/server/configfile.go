package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/llm"
)

// configFile is the configuration file.
//
//	models:
//	  default: local
//	  local: {provider: openai, model: qwen3, baseUrl: "http://127.0.0.1:11434/v1", contextWindow: 32768}
//	runbooks:
//	  deploy-shop: {model: hosted, fallbacks: [local]}
//	agents:
//	  mine: {command: my-agent, args: [--acp], env: [MY_AGENT_KEY]}
//	  claude: {environment: machine, hosts: [api.anthropic.com]}
//	mcpServers:
//	  github: {command: github-mcp-server, args: [stdio], secrets: [github], hosts: [api.github.com]}
//	agentProfiles:
//	  dba: {description: "Looks into databases", source: {type: internal}, capabilities: {write: deny}, mcpServers: [github]}
//	secrets:
//	  github: {env: GITHUB_TOKEN, as: GH_TOKEN}
//	webSearch: {provider: searxng, url: "http://127.0.0.1:8888"}
//	settings: {defaultTimeout: 300, defaultCapabilities: {write: deny}, defaultShell: zsh}
//	blockTypes:
//	  script: {description: "Runs a script", propsSchema: {type: object, required: [code]}}
//	tenants:
//	  acme: {dailyTokens: 5000000, dailyCost: 20}
//	webhooks: {allowHosts: ["127.0.0.1:9000"], publicUrl: "https://signoff.example"}
//	checkpoints: {maxBytesPerWorkspace: 2147483648, maxBytes: 8589934592}
//	workspaces: {default: ., app: /srv/app}
//	environments:
//	  default: workspace
//	  app: {mounts: {/srv/app: write, /var/log/app: read}, processes: host, network: [corp]}
//	networks:
//	  corp: {hosts: [api.corp.example], cidrs: [10.20.0.0/16], ports: [443]}
type configFile struct {
	Models     modelSection         `yaml:"models"`
	Runbooks   map[string]runbook   `yaml:"runbooks"` // by their ids; a * at the end stands for any end
	Agents     map[string]agent     `yaml:"agents"`
	MCPServers map[string]mcpServer `yaml:"mcpServers"`
	Secrets    map[string]secret    `yaml:"secrets"`
	WebSearch  *webSearch           `yaml:"webSearch"`
	Settings   settingSection       `yaml:"settings"`
	BlockTypes map[string]blockType `yaml:"blockTypes"`
	Tenants    map[string]tenant    `yaml:"tenants"` // by the names that keys have
	Webhooks   webhookSection       `yaml:"webhooks"`

	Checkpoints checkpointSection `yaml:"checkpoints"`

	AgentProfiles map[string]map[string]any `yaml:"agentProfiles"` // as the API takes definitions, with tenants

	Workspaces   map[string]string                         `yaml:"workspaces"` // name → folder
	Environments environmentSection                        `yaml:"environments"`
	Networks     map[string]environments.NetworkDefinition `yaml:"networks"`

	path    string // empty: there is no file
	content []byte
}

// modelSection holds the models by name, and under "default" the name of the default model.
type modelSection struct {
	Default string
	Models  map[string]model
}

type model struct {
	Provider      string `yaml:"provider"`
	Model         string `yaml:"model"`
	BaseURL       string `yaml:"baseUrl"`
	APIKeyEnv     string `yaml:"apiKeyEnv"`
	ContextWindow int    `yaml:"contextWindow"`
	Compaction    string `yaml:"compaction"`

	MaxOutputTokens   int           `yaml:"maxOutputTokens"`
	ThinkingTokens    int           `yaml:"thinkingTokens"`
	Effort            domain.Effort `yaml:"effort"`
	Temperature       *float64      `yaml:"temperature"`
	Seed              *int64        `yaml:"seed"`
	ParallelToolCalls *bool         `yaml:"parallelToolCalls"`

	RequestSettings *[]string     `yaml:"requestSettings"` // that requests may set; without it all
	MaxEffort       domain.Effort `yaml:"maxEffort"`       // of requests

	ExtraBody    map[string]any    `yaml:"extraBody"` // more fields of the body, for gateways
	ExtraHeaders map[string]string `yaml:"extraHeaders"`

	InputCostPer1m      *float64 `yaml:"inputCostPer1m"`
	OutputCostPer1m     *float64 `yaml:"outputCostPer1m"`
	CacheReadCostPer1m  *float64 `yaml:"cacheReadCostPer1m"`
	CacheWriteCostPer1m *float64 `yaml:"cacheWriteCostPer1m"`
}

// UnmarshalYAML separates the default from the models, and fills in the variables that vendors' own tools read keys from.
func (s *modelSection) UnmarshalYAML(unmarshal func(any) error) (err error) {
	s.Default, s.Models, err = withDefault[model]("models", unmarshal)
	for name, m := range s.Models {
		m.APIKeyEnv = cmp.Or(m.APIKeyEnv, llm.KeyEnv(m.Provider, m.BaseURL))
		s.Models[name] = m
	}
	return err
}

// environmentSection holds the environments by name, and under "default" the name of the default one.
type environmentSection struct {
	Default     string
	Definitions map[string]environments.Definition
}

// UnmarshalYAML separates the default from the environments.
func (s *environmentSection) UnmarshalYAML(unmarshal func(any) error) (err error) {
	s.Default, s.Definitions, err = withDefault[environments.Definition]("environments", unmarshal)
	return err
}

// withDefault reads a section of named entries, in which "default" is the name of one. A custom decoder does not inherit strictness, so it
// sets it again.
func withDefault[T any](section string, unmarshal func(any) error) (byDefault string, named map[string]T, err error) {
	var entries map[string]any
	if err := unmarshal(&entries); err != nil {
		return "", nil, err
	}
	named = map[string]T{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if name == "default" {
			text, isText := entries[name].(string)
			if !isText {
				return "", nil, fmt.Errorf("%s.default is the name of an entry", section)
			}
			byDefault = text
			continue
		}
		raw, err := yaml.Marshal(entries[name])
		if err != nil {
			return "", nil, err
		}
		var entry T
		if err := yaml.UnmarshalWithOptions(raw, &entry, yaml.Strict()); err != nil {
			return "", nil, errors.New(section + "." + name + ": " + withoutPlace(yaml.FormatError(err, false, false)))
		}
		named[name] = entry
	}
	return byDefault, named, nil
}

// withoutPlace cuts "[1:1] " off: that is the place in the entry, not in the file.
func withoutPlace(message string) string {
	if _, text, found := strings.Cut(message, "] "); found && strings.HasPrefix(message, "[") {
		return text
	}
	return message
}

// agent is an entry of the section agents. A field that it leaves out has the value of the built-in agent of that name.
type agent struct {
	Enabled             *bool             `yaml:"enabled"`
	Command             string            `yaml:"command"`
	Args                []string          `yaml:"args"`
	Env                 []string          `yaml:"env"`
	SetEnv              map[string]string `yaml:"setEnv"`
	Description         string            `yaml:"description"`
	Mode                *string           `yaml:"mode"`
	Model               string            `yaml:"model"`
	FileSystem          bool              `yaml:"fileSystem"`
	Terminal            bool              `yaml:"terminal"`
	Home                string            `yaml:"home"`
	AllowBypass         bool              `yaml:"allowBypass"`
	Environment         string            `yaml:"environment"` // that the agent's process runs in; empty: it is not isolated
	Hosts               []string          `yaml:"hosts"`       // of its provider, with environment
	SilentAfterSeconds  *int              `yaml:"silentAfterSeconds"`
	StartTimeoutSeconds *int              `yaml:"startTimeoutSeconds"`
}

// secret is an entry of the section secrets.
type secret struct {
	Env string `yaml:"env"` // where the server reads it
	As  string `yaml:"as"`  // the variable of commands; empty: the same
}

// webSearch is the section of that name. Without it there is no search.
type webSearch struct {
	Provider  string `yaml:"provider"`
	URL       string `yaml:"url"`
	APIKeyEnv string `yaml:"apiKeyEnv"`
}

// settingSection is the section "settings": the defaults of requests.
type settingSection struct {
	DefaultTimeout         *int              `yaml:"defaultTimeout"`         // seconds of active time per turn; 0 = none
	DefaultApprovalTimeout *int              `yaml:"defaultApprovalTimeout"` // seconds; 0 = for ever
	DefaultRetry           *int              `yaml:"defaultRetry"`           // seconds for which a request to a model is repeated; 0 = it is not
	FallbackAfter          *int              `yaml:"fallbackAfter"`          // seconds until a model that is away makes room for a fallback; 0 = at once
	DefaultCheckpoints     string            `yaml:"defaultCheckpoints"`     // required, bestEffort or off
	DefaultCapabilities    map[string]string `yaml:"defaultCapabilities"`    // class: deny, ask or allow
	DefaultShell           string            `yaml:"defaultShell"`
	BlockGeneration        *bool             `yaml:"blockGeneration"`
}

// blockType is a type that blocks of runbooks can have.
type blockType struct {
	Description string `yaml:"description"`
	Docs        string `yaml:"docs"`
	PropsSchema any    `yaml:"propsSchema"`
}

// webhookSection is the section "webhooks": targets beside public addresses, and the address of this server for people.
type webhookSection struct {
	AllowHosts []string `yaml:"allowHosts"` // host, or host:port
	PublicURL  string   `yaml:"publicUrl"`
}

// checkpointSection is the section "checkpoints": the bounds of their size.
type checkpointSection struct {
	MaxBytesPerWorkspace *int64 `yaml:"maxBytesPerWorkspace"`
	MaxBytes             *int64 `yaml:"maxBytes"` // of all workspaces
}

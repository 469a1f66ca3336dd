package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/http"
	"signoff/internal/llm"
	script "signoff/internal/llm/demo"
	"signoff/internal/secrets"
	"signoff/internal/tools"
)

// defaultConfigFile is read if SIGNOFF_CONFIG is not set, and may be missing.
const defaultConfigFile = "./signoff.yaml"

// registry is the configuration file.
//
//	models:
//	  default: local
//	  local: {provider: openai, model: qwen3, baseUrl: "http://127.0.0.1:11434/v1", contextWindow: 32768}
//	agents:
//	  mine: {command: my-agent, args: [--acp], env: [MY_AGENT_KEY]}
//	mcpServers:
//	  github: {command: github-mcp-server, args: [stdio], env: [GITHUB_TOKEN]}
//	secrets:
//	  github: {env: GITHUB_TOKEN, as: GH_TOKEN}
//	webSearch: {provider: searxng, url: "http://127.0.0.1:8888"}
//	settings: {defaultTimeout: 300, defaultCapabilities: {write: deny}, defaultShell: zsh}
//	blockTypes:
//	  script: {description: "Runs a script", propsSchema: {type: object, required: [code]}}
//	webhooks: {allowHosts: ["127.0.0.1:9000"], publicUrl: "https://signoff.example"}
type registry struct {
	Models     modelSection         `yaml:"models"`
	Agents     map[string]agent     `yaml:"agents"`
	MCPServers map[string]mcpServer `yaml:"mcpServers"`
	Secrets    map[string]secret    `yaml:"secrets"`
	WebSearch  *webSearch           `yaml:"webSearch"`
	Settings   settingSection       `yaml:"settings"`
	BlockTypes map[string]blockType `yaml:"blockTypes"`
	Webhooks   webhookSection       `yaml:"webhooks"`

	file    string
	content []byte
}

// modelSection holds the models by name, and under "default" the name of one.
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

	MaxOutputTokens     int      `yaml:"maxOutputTokens"`
	ThinkingTokens      int      `yaml:"thinkingTokens"`
	InputCostPer1m      *float64 `yaml:"inputCostPer1m"`
	OutputCostPer1m     *float64 `yaml:"outputCostPer1m"`
	CacheReadCostPer1m  *float64 `yaml:"cacheReadCostPer1m"`
	CacheWriteCostPer1m *float64 `yaml:"cacheWriteCostPer1m"`
}

// priced reports whether the cost of a request is known. The demo model is free without a setting.
func (m model) priced() bool { return m.InputCostPer1m != nil && m.OutputCostPer1m != nil }

// UnmarshalYAML takes the default apart from the models. Strictness does not come along into a custom decoder, so it
// is asked for again.
func (s *modelSection) UnmarshalYAML(unmarshal func(any) error) error {
	var entries map[string]any
	if err := unmarshal(&entries); err != nil {
		return err
	}
	s.Models = map[string]model{}
	for name, entry := range entries {
		if name == "default" {
			text, ok := entry.(string)
			if !ok {
				return errors.New("models.default is the name of a model")
			}
			s.Default = text
			continue
		}
		raw, err := yaml.Marshal(entry)
		if err != nil {
			return err
		}
		var m model
		if err := yaml.UnmarshalWithOptions(raw, &m, yaml.Strict()); err != nil {
			return errors.New("models." + name + ": " + withoutPlace(yaml.FormatError(err, false, false)))
		}
		s.Models[name] = m
	}
	return nil
}

// withoutPlace cuts "[1:1] " off: the place is one in the entry alone, not in the file.
func withoutPlace(message string) string {
	if _, text, found := strings.Cut(message, "] "); found && strings.HasPrefix(message, "[") {
		return text
	}
	return message
}

func (c Config) configFile() string {
	if c.Config != "" {
		return c.Config
	}
	return defaultConfigFile
}

// demoModels are the models of a server without configuration.
func demoModels() registry {
	return registry{Models: modelSection{Default: "demo", Models: map[string]model{"demo": {Provider: script.Name}}}}
}

// firstConfig is the file that the first start leaves, for people to go on from.
const firstConfig = `# The models that executions can use; docs/configuration.md has more. Change it and start the server again.
models:
  default: demo
  demo: {provider: demo}   # a script that needs no key
  # local: {provider: openai, model: qwen3, baseUrl: "http://127.0.0.1:11434/v1"}
  # openai: {provider: openai, model: gpt-5, apiKeyEnv: OPENAI_API_KEY}

# Claude Code, Gemini CLI, Codex, OpenCode, Qwen Code and Copilot CLI need no entry; "signoff doctor" tells which of them
# are installed. An entry adds an agent that speaks ACP, or changes one of these; docs/agents.md has more.
# agents:
#   claude: {home: private}
#   codex: {enabled: false}
#   mine: {command: my-agent, args: [--acp], env: [MY_AGENT_KEY]}
# mcpServers:
#   github: {command: github-mcp-server, args: [stdio], env: [GITHUB_TOKEN]}

# Secrets have names that agents may say; a command that is given one has its value in a variable, and no model sees it.
# secrets:
#   github: {env: GITHUB_TOKEN, as: GH_TOKEN}
`

// makeConfig writes a first configuration file if none was named and none exists. This is not only comfort: by default the
// file lies in the workspace. An existing one is read-only to commands; a missing one could be made
// by a command, and the next start would send keys wherever it says. Where the server may not write, neither can they.
func (c Config) makeConfig() error {
	if c.Config != "" {
		return nil
	}
	file, err := os.OpenFile(c.configFile(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil //nolint:nilerr // it is there, or cannot be there
	}
	_, err = file.WriteString(firstConfig)
	return errors.Join(err, file.Close())
}

// readRegistry reads the configuration file. Without one there is only the demo model, unless one was named.
func (c Config) readRegistry() (registry, error) {
	content, err := os.ReadFile(c.configFile())
	if errors.Is(err, fs.ErrNotExist) && c.Config == "" {
		return demoModels(), nil
	}
	if err != nil {
		return registry{}, usagef("the configuration file cannot be read: %w", err)
	}
	r := registry{file: c.configFile(), content: content}
	if err := yaml.UnmarshalWithOptions(content, &r, yaml.Strict()); err != nil {
		masker, readable := private(content)
		return registry{}, usagef("%s: %s", c.configFile(), masker.MaskString(yaml.FormatError(err, false, readable)))
	}
	if len(r.Models.Models) == 0 && len(r.Agents) == 0 {
		return registry{}, usagef("%s names neither models nor agents; docs/configuration.md shows how", c.configFile())
	}
	if len(r.Models.Models) == 0 && r.Models.Default == "" {
		r.Models = demoModels().Models
	}
	return r, nil
}

// mistake shows the line of the file that an error points at. It does not show a line with an address: the mistake may be a
// secret in it, whose beginning and end are unknown.
func (r registry) mistake(err error) error {
	var coded *domain.Error
	if !errors.As(err, &coded) || len(coded.Details) == 0 {
		return usageError{err}
	}
	steps := strings.Split(strings.TrimPrefix(coded.Details[0].Pointer, "/"), "/")
	place := strings.Join(steps, ".")
	if r.file != "" {
		place = r.file + ": " + place
	}
	masker, readable := private(r.content)
	message := masker.MaskString(coded.Message)
	if !readable || slices.Contains([]string{"baseUrl", "publicUrl"}, steps[len(steps)-1]) {
		return usagef("%s: %s", place, message)
	}
	for ; len(steps) > 1; steps = steps[:len(steps)-1] { // a missing field has no place; its parent has one
		if excerpt, err := yamlPath(steps).AnnotateSource(r.content, false); err == nil {
			return usagef("%s: %s\n%s", place, message, masker.MaskString(strings.TrimRight(string(excerpt), "\n")))
		}
	}
	return usagef("%s: %s", place, message)
}

func yamlPath(steps []string) *yaml.Path {
	path := (&yaml.PathBuilder{}).Root()
	for _, step := range steps {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if index, err := strconv.ParseUint(step, 10, 32); err == nil {
			path = path.Index(uint(index))
		} else {
			path = path.Child(step)
		}
	}
	return path.Build()
}

// openModels turns the registry into the internal agent. The values of keys are read here and go nowhere else.
func (r registry) openModels(known *tools.Registry, masker *secrets.Masker) (*llm.Registry, error) {
	config := llm.Config{
		Default: r.Models.Default, Models: map[string]llm.Model{}, Pace: script.Pace, Masker: masker,
		Retry: orNone(r.Settings.DefaultRetry), Patience: orNone(r.Settings.FallbackAfter),
	}
	for name, m := range r.Models.Models {
		entry := llm.Model{
			Provider: m.Provider, Model: m.Model, BaseURL: m.BaseURL, APIKeyEnv: m.APIKeyEnv, ContextWindow: m.ContextWindow,
			MaxOutputTokens: m.MaxOutputTokens, ThinkingTokens: m.ThinkingTokens, InputCostPer1m: m.InputCostPer1m,
			OutputCostPer1m: m.OutputCostPer1m, CacheReadCostPer1m: m.CacheReadCostPer1m, CacheWriteCostPer1m: m.CacheWriteCostPer1m,
		}
		if m.APIKeyEnv != "" {
			entry.APIKey = os.Getenv(m.APIKeyEnv)
		}
		config.Models[name] = entry
	}
	models, err := llm.NewRegistry(config, known)
	if err != nil {
		return nil, r.mistake(err)
	}
	return models, nil
}

// models shows the registry to clients.
type models struct {
	*llm.Registry
	entries map[string]model
}

var (
	_ http.Models      = models{}
	_ admission.Models = models{}
)

func (r registry) models(of *llm.Registry) models {
	return models{Registry: of, entries: r.Models.Models}
}

// Priced implements [admission.Models].
func (m models) Priced(name string) bool { return m.entries[name].priced() }

// Models lists the models, without secrets.
func (m models) Models(ctx context.Context) []http.ModelInfo {
	var infos []http.ModelInfo
	for _, info := range m.Registry.Models(ctx) {
		infos = append(infos, http.ModelInfo{
			Name: info.Name, Provider: info.Provider, Model: info.Model, Default: info.Default,
			Available: info.Available, Reason: info.Reason, ContextWindow: int64(m.entries[info.Name].ContextWindow),
		})
	}
	return infos
}

// orNone is a setting in seconds as package llm takes it, where 0 is the default and what is below 0 is none at all.
func orNone(seconds *int) time.Duration {
	switch {
	case seconds == nil:
		return 0
	case *seconds == 0:
		return -1
	default:
		return time.Duration(*seconds) * time.Second
	}
}

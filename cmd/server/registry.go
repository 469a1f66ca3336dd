package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/goccy/go-yaml"

	"signoff/internal/http"
	"signoff/internal/llm"
	"signoff/internal/tools"
)

// defaultConfigFile is read where SIGNOFF_CONFIG is not set, and may be missing.
const defaultConfigFile = "./signoff.yaml"

// registry is the configuration file.
//
//	models:
//	  default: local
//	  local: {provider: openai, model: qwen3, baseUrl: "http://127.0.0.1:11434/v1", contextWindow: 32768}
type registry struct {
	Models modelSection `yaml:"models"`
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
}

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

// demoModels is all there is where nothing is configured.
func demoModels() registry {
	return registry{Models: modelSection{Default: "demo", Models: map[string]model{"demo": {Provider: llm.ProviderDemo}}}}
}

// firstConfig is the file that the first start leaves, for people to go on from.
const firstConfig = `# The models that executions can use; docs/configuration.md has more. Change it and start the server again.
models:
  default: demo
  demo: {provider: demo}   # a script that needs no key
  # local: {provider: openai, model: qwen3, baseUrl: "http://127.0.0.1:11434/v1"}
  # openai: {provider: openai, model: gpt-5, apiKeyEnv: OPENAI_API_KEY}
`

// makeConfig leaves a first configuration file where none was named and there is none. It is not only for comfort: by
// default the file lies in the workspace. One that is there is read-only to commands; one that is not could be made
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

// readRegistry reads the configuration file. Where there is none and none was named, the demo model is all there is.
func (c Config) readRegistry() (registry, error) {
	content, err := os.ReadFile(c.configFile())
	if errors.Is(err, fs.ErrNotExist) && c.Config == "" {
		return demoModels(), nil
	}
	if err != nil {
		return registry{}, usagef("the configuration file cannot be read: %w", err)
	}
	var r registry
	if err := yaml.UnmarshalWithOptions(content, &r, yaml.Strict()); err != nil {
		return registry{}, usagef("%s: %s", c.configFile(), yaml.FormatError(err, false, true))
	}
	if len(r.Models.Models) == 0 {
		return registry{}, usagef("%s names no models; docs/configuration.md shows how", c.configFile())
	}
	return r, nil
}

// openModels turns the registry into the internal agent. The values of keys are read here and go nowhere else.
func (r registry) openModels(known *tools.Registry) (*llm.Registry, error) {
	config := llm.Config{Default: r.Models.Default, Models: map[string]llm.Model{}, DemoPace: llm.DefaultDemoPace}
	for name, m := range r.Models.Models {
		entry := llm.Model{
			Provider: m.Provider, Model: m.Model, BaseURL: m.BaseURL, APIKeyEnv: m.APIKeyEnv, ContextWindow: m.ContextWindow,
		}
		if m.APIKeyEnv != "" {
			entry.APIKey = os.Getenv(m.APIKeyEnv)
		}
		config.Models[name] = entry
	}
	models, err := llm.NewRegistry(config, known)
	if err != nil {
		return nil, usageError{err}
	}
	return models, nil
}

// models shows the registry to clients.
type models struct {
	*llm.Registry
	windows map[string]int
}

var _ http.Models = models{}

func (r registry) models(of *llm.Registry) models {
	windows := map[string]int{}
	for name, m := range r.Models.Models {
		windows[name] = m.ContextWindow
	}
	return models{Registry: of, windows: windows}
}

// Models lists what may be shown.
func (m models) Models(ctx context.Context) []http.ModelInfo {
	var infos []http.ModelInfo
	for _, info := range m.Registry.Models(ctx) {
		infos = append(infos, http.ModelInfo{
			Name: info.Name, Provider: info.Provider, Model: info.Model, Default: info.Default,
			Available: info.Available, Reason: info.Reason, ContextWindow: int64(m.windows[info.Name]),
		})
	}
	return infos
}

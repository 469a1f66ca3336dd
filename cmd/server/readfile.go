package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"signoff/internal/domain"
	script "signoff/internal/llm/demo"
)

// demoModels is the configuration of a server without a file: the demo model alone.
func demoModels() configFile {
	return configFile{Models: modelSection{Default: "demo", Models: map[string]model{"demo": {Provider: script.Name}}}}
}

// firstConfig is the file that the first start writes, as a beginning for the operator.
const firstConfig = `# The models that executions can use; docs/configuration.md has more. Change it and start the server again.
models:
  default: demo
  demo: {provider: demo}   # a script that needs no key

  # A vendor, by its name. The key is read from the variable behind the line, or from the one in apiKeyEnv.
  # claude: {provider: anthropic, model: claude-opus-5-5, apiKeyEnv: ANTHROPIC_API_KEY}
  # openai: {provider: openai-responses, model: gpt-6.1-terra, apiKeyEnv: OPENAI_API_KEY}
  # gemini: {provider: gemini, model: gemini-3.8-flash}                  # GEMINI_API_KEY
  # deepseek: {provider: deepseek, model: deepseek-v4-flash}             # DEEPSEEK_API_KEY
  # kimi: {provider: kimi, model: kimi-k3}                               # MOONSHOT_API_KEY
  # glm: {provider: glm, model: glm-5.3}                                 # ZAI_API_KEY
  # mistral: {provider: mistral, model: mistral-medium-latest}           # MISTRAL_API_KEY
  # groq: {provider: groq, model: openai/gpt-oss-120b}                   # GROQ_API_KEY
  # openrouter: {provider: openrouter, model: anthropic/claude-opus-5.5} # OPENROUTER_API_KEY
  # azure: {provider: azure, model: my-deployment, baseUrl: "https://RESOURCE.openai.azure.com/openai/v1"} # AZURE_OPENAI_API_KEY

  # A server on this machine, at its usual port, and any other that speaks chat completions.
  # ollama: {provider: ollama, model: qwen3}
  # vllm: {provider: vllm, model: Qwen/Qwen3-8B}
  # lmstudio: {provider: lmstudio, model: qwen/qwen3-8b}
  # gateway: {provider: openai, model: my-model, baseUrl: "https://gateway.example/v1", apiKeyEnv: GATEWAY_API_KEY}

# Claude Code, Gemini CLI, Codex, OpenCode, Qwen Code and Copilot CLI need no entry; "signoff doctor" tells which of them
# are installed. An entry adds an agent that speaks ACP, or changes one of these; docs/agents.md has more.
# agents:
#   claude: {home: private}
#   codex: {enabled: false}
#   mine: {command: my-agent, args: [--acp], env: [MY_AGENT_KEY]}

# MCP servers are tools for agents, by the names that requests choose. A program runs isolated, with the hosts and secrets of its entry; no command
# gets those. docs/mcp.md has more.
# mcpServers:
#   github: {command: github-mcp-server, args: [stdio], secrets: [github], hosts: [api.github.com]}

# Secrets have names that agents may say; a command that is given one has its value in a variable, and no model sees it.
# secrets:
#   github: {env: GITHUB_TOKEN, as: GH_TOKEN}

# What agents see of the machine is an environment: docs/environments.md has an example for each use. The built-in ones need no entry.
`

// makeConfigFile writes a first configuration file if none was named and none exists. By default the file lies in the workspace: commands
// cannot change an existing file, but they could create a missing one, and the next start would send keys to the addresses in it. A folder in
// which the server may not write is closed to commands, too.
func (c Config) makeConfigFile() error {
	if c.Config != "" {
		return nil
	}
	path := c.configPath()
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".signoff.yaml.*")
	if err != nil {
		return nil // it cannot be there
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(firstConfig)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return publish(file.Name(), path)
}

// publish gives a whole file its name, unless another file has that name. A server that starts at the same moment must not read half of the file.
// A file system without hard links has only the rename, which replaces a file that was written since the check.
func publish(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return os.Rename(from, to)
}

// readConfigFile reads the configuration file. A default file that is missing stands for the demo model; a named one must exist.
func (c Config) readConfigFile() (configFile, error) {
	content, err := os.ReadFile(c.configPath())
	if errors.Is(err, fs.ErrNotExist) && c.Config == "" {
		return demoModels(), nil
	}
	if err != nil {
		return configFile{}, usagef("the configuration file cannot be read: %w", err)
	}
	f := configFile{path: c.configPath(), content: content}
	if err := yaml.UnmarshalWithOptions(content, &f, yaml.Strict()); err != nil {
		masker, readable := private(content)
		return configFile{}, usagef("%s: %s", c.configPath(), masker.MaskString(yaml.FormatError(err, false, readable)))
	}
	if len(f.Models.Models) == 0 && len(f.Agents) == 0 {
		return configFile{}, usagef("%s names neither models nor agents; docs/configuration.md shows how", c.configPath())
	}
	if len(f.Models.Models) == 0 && f.Models.Default == "" {
		f.Models = demoModels().Models
	}
	return f, nil
}

// mistake turns an error into a usage error that shows the line it points at. It shows no line with an address: the mistake may be a secret
// in it, and nobody knows where that secret begins and ends.
func (f configFile) mistake(err error) error {
	var coded *domain.Error
	if !errors.As(err, &coded) || len(coded.Details) == 0 {
		return usageError{err}
	}
	steps := strings.Split(strings.TrimPrefix(coded.Details[0].Pointer, "/"), "/")
	for i := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i])
	}
	place := strings.Join(steps, ".")
	if f.path != "" {
		place = f.path + ": " + place
	}
	masker, readable := private(f.content)
	message := masker.MaskString(coded.Message)
	if !readable || slices.Contains([]string{"baseUrl", "publicUrl"}, steps[len(steps)-1]) {
		return usagef("%s: %s", place, message)
	}
	for ; len(steps) > 1; steps = steps[:len(steps)-1] { // a missing field has no place; its parent has one
		if excerpt, err := yamlPath(steps).AnnotateSource(f.content, false); err == nil {
			return usagef("%s: %s\n%s", place, message, masker.MaskString(strings.TrimRight(string(excerpt), "\n")))
		}
	}
	return usagef("%s: %s", place, message)
}

func yamlPath(steps []string) *yaml.Path {
	path := (&yaml.PathBuilder{}).Root()
	for _, step := range steps {
		if index, err := strconv.ParseUint(step, 10, 32); err == nil {
			path = path.Index(uint(index))
		} else {
			path = path.Child(step)
		}
	}
	return path.Build()
}

package acp

// builtin is a well-known agent: what to run, and what people need to know to get it.
type builtin struct {
	row     Row
	install string   // what to type where the program is missing
	signIn  string   // what to type where there is neither key nor sign-in
	keys    []string // one of these variables, or
	files   []string // one of these in its home, and it has something to sign in with; none: it cannot be told
}

// builtins are there without being configured. One whose program is not installed is listed as not available.
//
// Each mode is the one in which the agent asks before it acts; test/agents tries them with the agents themselves.
var builtins = map[string]builtin{
	"claude": {
		row: Row{
			Command:     "claude-agent-acp",
			Description: "Claude Code, by Anthropic.",
			Mode:        new("default"),
			Env: []string{
				"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL",
				"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL",
			},
		},
		install: "npm install -g @agentclientprotocol/claude-agent-acp",
		signIn:  "claude /login",
		keys:    []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		files:   []string{".claude/.credentials.json", ".claude/settings.json"},
	},
	"gemini": {
		row: Row{
			Command:     "gemini",
			Args:        []string{"--acp"},
			Description: "Gemini CLI, by Google.",
			Mode:        new("default"),
			Env: []string{
				"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENAI_USE_VERTEXAI",
				"GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS",
				"GEMINI_MODEL",
			},
		},
		install: "npm install -g @google/gemini-cli",
		signIn:  "gemini",
		keys:    []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"},
		files:   []string{".gemini/oauth_creds.json", ".gemini/settings.json"},
	},
	"codex": {
		row: Row{
			Command:     "codex-acp",
			Description: "Codex, by OpenAI.",
			Mode:        new("read-only"), // in the others a model decides what a person is asked
			Env:         []string{"OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"},
		},
		install: "npm install -g @agentclientprotocol/codex-acp",
		signIn:  "codex login",
		keys:    []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		files:   []string{".codex/auth.json", ".codex/config.toml"},
	},
	"opencode": {
		row: Row{
			Command:     "opencode",
			Args:        []string{"acp"},
			Description: "OpenCode.",
			Env: []string{
				"OPENCODE_CONFIG", "OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
				"GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY",
			},
			// It has no mode for it: of itself it asks before nothing inside of its working directory.
			SetEnv: map[string]string{openCodePermission: `{"edit":"ask","bash":"ask","webfetch":"ask"}`},
		},
		install: "npm install -g opencode-ai",
	},
	"qwen": {
		row: Row{
			Command:     "qwen",
			Args:        []string{"--acp"},
			Description: "Qwen Code, by Alibaba.",
			Mode:        new("default"), // of itself it is in auto, where a model decides
			Env:         []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"},
		},
		install: "npm install -g @qwen-code/qwen-code",
		signIn:  "qwen",
		keys:    []string{"OPENAI_API_KEY", "DASHSCOPE_API_KEY"},
		files:   []string{".qwen/oauth_creds.json", ".qwen/settings.json"},
	},
	"copilot": {
		row: Row{
			Command:     "copilot",
			Args:        []string{"--acp"},
			Description: "GitHub Copilot CLI.",
			Mode:        new("https://agentclientprotocol.com/protocol/session-modes#agent"),
			Env: []string{
				"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_MODEL", "COPILOT_OFFLINE",
				"COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY",
			},
		},
		install: "npm install -g @github/copilot",
		signIn:  "copilot",
		keys:    []string{"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"},
		files:   []string{".copilot/config.json"},
	},
}

const openCodePermission = "OPENCODE_PERMISSION"

// aliases are other names that people know the built-in agents by, in their normal form.
var aliases = map[string]string{
	"claudecode":     "claude",
	"claudeagentacp": "claude",
	"geminicli":      "gemini",
	"codexacp":       "codex",
	"codexcli":       "codex",
	"qwencode":       "qwen",
	"copilotcli":     "copilot",
	"githubcopilot":  "copilot",
}

// canonical is the normal form of a name, with its alias resolved.
func canonical(name string) string {
	key := normal(name)
	if known, is := aliases[key]; is {
		return known
	}
	return key
}

package registry

// builtin is a well-known agent: what to run, and what people need to know to get it.
type builtin struct {
	config     AgentConfig
	install    string   // what to type where the program is missing
	signIn     string   // what to type where there is neither key nor sign-in
	keys       []string // one of these variables, or
	refreshing []string // of these, the ones that stand for a sign-in whose files the agent refreshes
	files      []string // one of these in its home, and it has something to sign in with; without files it cannot be told
	inside     []string // arguments that it is given in an environment besides
	guard      *guard
	meta       string // JSON, sent as _meta when a session begins or is resumed
	// admissions are tried where the agent wants to be signed in before it makes a session. Each writes something into
	// the home, such as the key, so that none is tried unasked.
	authMethods []authMethod
}

// guard is a file of settings beside the home of an agent, which keeps it from something that it does of itself.
type guard struct {
	variable string // that tells the agent where the file is
	content  string
	servers  *serversGuard // nil: the guard does not keep MCP servers from the agent
}

// serversGuard is for an agent that uses no MCP server in a folder that it does not trust. It is started in an empty folder
// of ours, which it may trust, and works in its workspace, which it still does not.
type serversGuard struct {
	variable string // that tells the agent where its list of folders is
	trusted  string // what the list says of one that is trusted
	env      map[string]string
}

// authMethod is a way to sign in that asks nobody: the agent takes its key from the variable.
type authMethod struct{ variable, method string }

// builtins are there without being configured. One whose program is not installed is listed as not available.
//
// Each mode is the one in which the agent asks before it acts; test/agents tries them with the agents themselves.
var builtins = map[string]builtin{
	"claude": {
		config: AgentConfig{
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
		// Otherwise it runs the hooks of every repository that it works in, and what they allow nobody is asked.
		meta: `{"claudeCode": {"options": {"settingSources": ["user"]}}}`,
	},
	"gemini": {
		config: AgentConfig{
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
		install:    "npm install -g @google/gemini-cli",
		signIn:     "gemini",
		keys:       []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"},
		files:      []string{".gemini/oauth_creds.json", ".gemini/settings.json"},
		refreshing: []string{"GOOGLE_GENAI_USE_GCA"},
	},
	"codex": {
		config: AgentConfig{
			Command:     "codex-acp",
			Description: "Codex, by OpenAI.",
			Mode:        new("read-only"), // in the others a model decides what a person is asked
			Env:         []string{"OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"},
		},
		// In its mode it runs commands that only read in a sandbox of its own, which makes namespaces. None can be made in ours, so it takes its older
		// one, which works by Landlock alone. Its successor ignores this, and has no other: there such a command fails, and comes back as a question.
		inside: []string{"-c", "features.use_legacy_landlock=true"},
		// Its successor, @agentclientprotocol/codex-acp, works with this configuration too, and obeys the rules of a repository.
		install: "npm install -g @zed-industries/codex-acp",
		signIn:  "codex login",
		keys:    []string{"OPENAI_API_KEY", "CODEX_API_KEY"},
		files:   []string{".codex/auth.json", ".codex/config.toml"},
		authMethods: []authMethod{
			{"CODEX_API_KEY", "codex-api-key"}, {"OPENAI_API_KEY", "openai-api-key"},
			{"CODEX_API_KEY", "api-key"}, {"OPENAI_API_KEY", "api-key"}, // of the successor
		},
	},
	"opencode": {
		config: AgentConfig{
			Command:     "opencode",
			Args:        []string{"acp"},
			Description: "OpenCode.",
			Env: []string{
				"OPENCODE_CONFIG", "OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
				"GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY",
			},
			// It has no mode for it: of itself it asks before nothing inside of its working directory. A repository could
			// take the questions away again.
			SetEnv: map[string]string{
				openCodePermission:                openCodeAsks,
				"OPENCODE_CONFIG_CONTENT":         openCodeReviews,
				"OPENCODE_DISABLE_PROJECT_CONFIG": "true",
				"OPENCODE_DISABLE_AUTOUPDATE":     "true", // it is the operator who says what is run
			},
		},
		install: "npm install -g opencode-ai",
	},
	"qwen": {
		config: AgentConfig{
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
		// Otherwise it does what the folder says that it works in, and a repository could say that nobody is to be asked.
		guard: &guard{
			variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH",
			content:  `{"security": {"folderTrust": {"enabled": true}}}`,
			servers: &serversGuard{
				variable: "QWEN_CODE_TRUSTED_FOLDERS_PATH",
				trusted:  "TRUST_FOLDER",
				// Subagents and skills of the workspace go by the folder in which it was started. One may bring a mode along in
				// which nobody is asked.
				env: map[string]string{"QWEN_CODE_SAFE_MODE": "true"},
			},
		},
	},
	"copilot": {
		config: AgentConfig{
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
	// It comes by an installer alone, in no registry, so the tests have a scripted peer in its place: https://cursor.com/docs/cli/acp
	"cursor": {
		config: AgentConfig{
			Command:     "cursor-agent",
			Args:        []string{"acp"},
			Description: "Cursor's agent.",
			Mode:        new("agent"), // in which it asks; the others only read
			Env:         []string{"CURSOR_API_KEY", "CURSOR_AUTH_TOKEN"},
		},
		install: "curl https://cursor.com/install -fsS | bash",
		signIn:  "cursor-agent login",
		keys:    []string{"CURSOR_API_KEY", "CURSOR_AUTH_TOKEN"},
		files:   []string{".config/cursor/auth.json", ".cursor/cli-config.json"},
		// It takes key and sign-in at its start. Its one method of authentication, cursor_login, would open a browser where there is only a key.
	},
}

const openCodePermission = "OPENCODE_PERMISSION"

// openCodeAsks lets OpenCode look without asking. Everything else asks: "*" stands for what has no rule of its own, such
// as the tools of MCP servers, and the three before the last for what a settings file of the home may have allowed. The tool
// task, which makes subagents, is denied: OpenCode drops their questions, so the turn would wait until its time is up.
const openCodeAsks = `{"*":"ask","read":"allow","glob":"allow","grep":"allow","list":"allow","lsp":"allow",` +
	`"todoread":"allow","todowrite":"allow","question":"allow","skill":"allow",` +
	`"edit":"ask","bash":"ask","webfetch":"ask","task":"deny"}`

// openCodeReviews has the one built-in command of OpenCode that makes a subagent without the tool do its work in the agent's own session, where
// its questions are heard.
const openCodeReviews = `{"command":{"review":{"description":"Review changes [commit|branch|pr], by default those that are not committed",` +
	`"template":"Review these changes; without a name, those that are not committed: $ARGUMENTS","subtask":false}}}`

// aliases are other names that people know the built-in agents by, in their normal form.
var aliases = map[string]string{
	"claudecode":     "claude",
	"claudeagentacp": "claude",
	"geminicli":      "gemini",
	"codexacp":       "codex",
	"codexcli":       "codex",
	"opencodeai":     "opencode",
	"qwencode":       "qwen",
	"copilotcli":     "copilot",
	"githubcopilot":  "copilot",
	"cursoragent":    "cursor",
	"cursorcli":      "cursor",
}

// canonical is the normal form of a name, with its alias resolved.
func canonical(name string) string {
	key := normal(name)
	if known, is := aliases[key]; is {
		return known
	}
	return key
}

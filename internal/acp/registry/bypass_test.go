package registry

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"signoff/internal/acp/settings"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// bypassing are configurations that let an agent act without asking, each with the place that gives it away.
var bypassing = map[string]struct {
	agent AgentConfig
	place string
}{
	"Claude":                {AgentConfig{Args: []string{"--dangerously-skip-permissions"}}, "args/0"},
	"Claude, made possible": {AgentConfig{Args: []string{"--allow-dangerously-skip-permissions"}}, "args/0"},
	"Claude, mode":          {AgentConfig{Args: []string{"-v", "--permission-mode", "bypassPermissions"}}, "args/2"},
	"Claude, mode joined":   {AgentConfig{Args: []string{"--permission-mode=bypassPermissions"}}, "args/0"},
	"Claude, camel case":    {AgentConfig{Args: []string{"--permissionMode=bypassPermissions"}}, "args/0"},
	"Claude, settings":      {AgentConfig{Args: []string{"--settings", `{"permissions":{"defaultMode":"bypassPermissions"}}`}}, "args/1"},
	"yolo":                  {AgentConfig{Args: []string{"--acp", "--yolo"}}, "args/1"},
	"yolo with a value":     {AgentConfig{Args: []string{"--yolo=true"}}, "args/0"},
	"yolo, short":           {AgentConfig{Args: []string{"--acp", "-y"}}, "args/1"},
	"yolo, among others":    {AgentConfig{Args: []string{"-dy"}}, "args/0"},
	"approval mode":         {AgentConfig{Args: []string{"--approval-mode", "yolo"}}, "args/1"},
	"approval mode joined":  {AgentConfig{Args: []string{"--approval-mode=yolo"}}, "args/0"},
	"Codex":                 {AgentConfig{Args: []string{"--dangerously-bypass-approvals-and-sandbox"}}, "args/0"},
	"Codex, full auto":      {AgentConfig{Args: []string{"--full-auto"}}, "args/0"},
	"Codex, never asks":     {AgentConfig{Args: []string{"--ask-for-approval", "never"}}, "args/1"},
	"Codex, never, short":   {AgentConfig{Args: []string{"-a", "never"}}, "args/1"},
	"Codex, no sandbox":     {AgentConfig{Args: []string{"--sandbox=danger-full-access"}}, "args/0"},
	"Codex, -c":             {AgentConfig{Args: []string{"-c", `approval_policy="never"`}}, "args/1"},
	"Codex, -c with spaces": {AgentConfig{Args: []string{"-c", `sandbox_mode = "danger-full-access"`}}, "args/1"},
	"Copilot, tools":        {AgentConfig{Args: []string{"--acp", "--allow-all-tools"}}, "args/1"},
	"Copilot, paths":        {AgentConfig{Args: []string{"--allow-all-paths"}}, "args/0"},
	"Copilot, all":          {AgentConfig{Args: []string{"--allow-all"}}, "args/0"},
	"Copilot, variable":     {AgentConfig{SetEnv: map[string]string{"COPILOT_ALLOW_ALL": "true"}}, "setEnv/COPILOT_ALLOW_ALL"},
	"Cursor, force":         {AgentConfig{Args: []string{"--force", "acp"}}, "args/0"},
	"Cursor, force, short":  {AgentConfig{Args: []string{"-f", "acp"}}, "args/0"},
	"Cursor, servers":       {AgentConfig{Args: []string{"--approve-mcps", "acp"}}, "args/0"},
	"others: trust":         {AgentConfig{Args: []string{"--trust-all-tools"}}, "args/0"},
	"in a shell's line":     {AgentConfig{Command: "sh", Args: []string{"-c", "exec gemini --acp --yolo"}}, "command"},
	"through a launcher":    {AgentConfig{Command: "npx", Args: []string{"-y", "@google/gemini-cli", "--acp", "-y"}}, "command"},
	"OpenCode, all":         {AgentConfig{SetEnv: map[string]string{"OPENCODE_PERMISSION": `"allow"`}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, commands":    {AgentConfig{SetEnv: map[string]string{"OPENCODE_PERMISSION": `{"bash":"allow"}`}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, nested":      {AgentConfig{SetEnv: map[string]string{"OPENCODE_PERMISSION": `{"bash":{"*":"allow"}}`}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, unreadable":  {AgentConfig{SetEnv: map[string]string{"OPENCODE_PERMISSION": `{`}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, whole":       {AgentConfig{SetEnv: map[string]string{"OPENCODE_CONFIG_CONTENT": `{"permission":{"*":"allow"}}`}}, "setEnv/OPENCODE_CONFIG_CONTENT"},
	"OpenCode, in any case": {AgentConfig{SetEnv: map[string]string{"OPENCODE_YOLO": "1"}}, "setEnv/OPENCODE_YOLO"},
	"Goose":                 {AgentConfig{SetEnv: map[string]string{"GOOSE_MODE": "auto"}}, "setEnv/GOOSE_MODE"},
	"passed on":             {AgentConfig{Env: []string{"NAME", "GEMINI_YOLO"}}, "env/1"},
	"mode of Claude":        {AgentConfig{Mode: new("bypassPermissions")}, "mode"},
	"mode of Gemini":        {AgentConfig{Mode: new("yolo")}, "mode"},
	"mode of Codex":         {AgentConfig{Mode: new("full-access")}, "mode"},
	"mode of Codex 2":       {AgentConfig{Mode: new("agent-full-access")}, "mode"},
	"yolo, as a long y":     {AgentConfig{Args: []string{"--y"}}, "args/0"},
	"yolo, long cluster":    {AgentConfig{Args: []string{"--acp", "-dsy"}}, "args/1"},
	"yolo, in the middle":   {AgentConfig{Args: []string{"-dys"}}, "args/0"},
	"Codex, never joined":   {AgentConfig{Args: []string{"-anever"}}, "args/0"},
	"Codex, danger joined":  {AgentConfig{Args: []string{"-sdanger-full-access"}}, "args/0"},
	"Claude, edits":         {AgentConfig{Args: []string{"--permission-mode", "acceptEdits"}}, "args/1"},
	"Claude, edits joined":  {AgentConfig{Args: []string{"--permission-mode=acceptEdits"}}, "args/0"},
	"Claude, tools":         {AgentConfig{Args: []string{"--allowedTools", "Bash"}}, "args/0"},
	"Copilot, a tool":       {AgentConfig{Args: []string{"--allow-tool", "shell"}}, "args/0"},
	"Copilot, tool joined":  {AgentConfig{Args: []string{"--allow-tool=shell(rm)"}}, "args/0"},
	"Copilot, an address":   {AgentConfig{Args: []string{"--allow-url=example.org"}}, "args/0"},
	"Copilot, autopilot":    {AgentConfig{Args: []string{"--autopilot"}}, "args/0"},
	"Copilot, mode":         {AgentConfig{Args: []string{"--mode", "autopilot"}}, "args/1"},
	"Gemini, tools":         {AgentConfig{Args: []string{"--allowed-tools", "run_shell_command"}}, "args/0"},
	"Gemini, edits":         {AgentConfig{Args: []string{"--approval-mode", "auto_edit"}}, "args/1"},
	"Qwen, edits":           {AgentConfig{Args: []string{"--approval-mode=auto-edit"}}, "args/0"},
	"Qwen, auto":            {AgentConfig{Args: []string{"--approval-mode", "auto"}}, "args/1"},
	"Gemini, policy":        {AgentConfig{Args: []string{"--policy", "/etc/rules.toml"}}, "args/0"},
	"Gemini, policy joined": {AgentConfig{Args: []string{"--policy=no"}}, "args/0"},
	"Gemini, admin":         {AgentConfig{Args: []string{"--admin-policy=/etc/rules.toml"}}, "args/0"},
	"Gemini, trust":         {AgentConfig{Args: []string{"--skip-trust"}}, "args/0"},
	"Gemini, trust by env":  {AgentConfig{SetEnv: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}}, "setEnv/GEMINI_CLI_TRUST_WORKSPACE"},
	"Qwen, mode by env":     {AgentConfig{SetEnv: map[string]string{"QWEN_CODE_APPROVAL_MODE": "auto-edit"}}, "setEnv/QWEN_CODE_APPROVAL_MODE"},
	"Qwen, trust by env":    {AgentConfig{SetEnv: map[string]string{"QWEN_CODE_TRUST_WORKSPACE": "1"}}, "setEnv/QWEN_CODE_TRUST_WORKSPACE"},
	"Codex, configured":     {AgentConfig{SetEnv: map[string]string{"CODEX_CONFIG": `{"approvals_reviewer":"auto_review"}`}}, "setEnv/CODEX_CONFIG"},
	"Codex, unreadable":     {AgentConfig{SetEnv: map[string]string{"CODEX_CONFIG": `approval`}}, "setEnv/CODEX_CONFIG"},
	"Claude, another":       {AgentConfig{SetEnv: map[string]string{"CLAUDE_CODE_EXECUTABLE": "/opt/claude"}}, "setEnv/CLAUDE_CODE_EXECUTABLE"},
	"behind the word exec":  {AgentConfig{Args: []string{"exec", "-y"}}, "args/1"},
	"behind the word npx":   {AgentConfig{Args: []string{"--model", "npx", "-y"}}, "args/2"},
	"exec in a shell":       {AgentConfig{Command: "sh", Args: []string{"-c", "exec gemini -y"}}, "command"},
	"after a launcher":      {AgentConfig{Command: "sh", Args: []string{"-c", "npx -y prepare; gemini -y"}}, "command"},
	"npm that is no exec":   {AgentConfig{Command: "npm", Args: []string{"run", "agent", "-y"}}, "command"},
	"behind npm exec":       {AgentConfig{Command: "npm", Args: []string{"exec", "-y", "gemini", "-y"}}, "command"},
	"OpenCode, its agent": {
		AgentConfig{SetEnv: map[string]string{"OPENCODE_CONFIG_CONTENT": `{"agent":{"build":{"permission":{"bash":"allow"}}}}`}}, "setEnv/OPENCODE_CONFIG_CONTENT",
	},
	"edits of Claude":     {AgentConfig{Mode: new("acceptEdits")}, "mode"},
	"auto of Qwen":        {AgentConfig{Mode: new("auto")}, "mode"},
	"edits of Gemini":     {AgentConfig{Mode: new("autoEdit")}, "mode"},
	"edits of Qwen":       {AgentConfig{Mode: new("auto-edit")}, "mode"},
	"Copilot's autopilot": {AgentConfig{Mode: new("https://agentclientprotocol.com/protocol/session-modes#autopilot")}, "mode"},
	"sandbox of Codex":    {AgentConfig{Mode: new("workspace-write")}, "mode"},
	"agent of Codex":      {AgentConfig{Command: "codex-acp", Mode: new("agent")}, "mode"},
	"agent by a launcher": {AgentConfig{Command: "npx", Args: []string{"-y", "@agentclientprotocol/codex-acp@1.0"}, Mode: new("Agent")}, "command"},
	"OpenCode, not asked": {AgentConfig{Command: "opencode", Args: []string{"acp"}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, by a path": {AgentConfig{Command: "/opt/bin/opencode"}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, launched":  {AgentConfig{Command: "npx", Args: []string{"-y", "opencode-ai@latest", "acp"}}, "command"},
	"OpenCode, empty":     {AgentConfig{Command: "opencode", SetEnv: map[string]string{"OPENCODE_PERMISSION": "{}"}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, half": {
		AgentConfig{Command: "opencode", SetEnv: map[string]string{"OPENCODE_PERMISSION": `{"edit":"ask","bash":"ask"}`}}, "setEnv/OPENCODE_PERMISSION",
	},
	"OpenCode, patterns alone": {
		AgentConfig{Command: "opencode", SetEnv: map[string]string{"OPENCODE_PERMISSION": `{"edit":"ask","webfetch":"ask","bash":{"rm *":"ask"}}`}},
		"setEnv/OPENCODE_PERMISSION",
	},
	"a launcher's own flag": {AgentConfig{Command: "npx", Args: []string{"-y", "@google/gemini-cli", "--acp"}}, "command"},
	"a launcher in a shell": {AgentConfig{Command: "sh", Args: []string{"-c", "npx --yes @google/gemini-cli --acp"}}, "command"},
	"a launcher behind env": {AgentConfig{Command: "env", Args: []string{"A=b", "npx", "-y", "@google/gemini-cli", "--acp"}}, "command"},
	"npm exec":              {AgentConfig{Command: "npm", Args: []string{"exec", "-y", "--", "@google/gemini-cli", "--acp"}}, "command"},
	"pnpm dlx":              {AgentConfig{Command: "pnpm", Args: []string{"dlx", "--yes", "@google/gemini-cli", "--acp"}}, "command"},
	"a launcher's package":  {AgentConfig{Command: "npx", Args: []string{"--package", "@google/gemini-cli", "-y", "gemini", "--acp"}}, "command"},
	"a launcher after cd":   {AgentConfig{Command: "bash", Args: []string{"-c", "cd /srv && exec npx -y @google/gemini-cli --acp"}}, "command"},
	"a shell by its path":   {AgentConfig{Command: "/usr/local/bin/bash-5.2", Args: []string{"agent.sh"}}, "command"},
	"a container":           {AgentConfig{Command: "docker", Args: []string{"run", "-i", "agent"}}, "command"},
	"a line of Python":      {AgentConfig{Command: "python3.12", Args: []string{"-c", "import agent"}}, "command"},
	"flags before a script": {AgentConfig{Command: "node", Args: []string{"--inspect", "/opt/opencode.js"}}, "command"},
	"Codex as a script":     {AgentConfig{Command: "/usr/bin/node", Args: []string{"/opt/codex-acp.js"}, Mode: new("agent")}, "mode"},
	"OpenCode as a script":  {AgentConfig{Command: "node", Args: []string{"/opt/opencode-ai", "acp"}}, "setEnv/OPENCODE_PERMISSION"},
	"a script's flag":       {AgentConfig{Command: "node", Args: []string{"/opt/gemini.js", "--acp", "--yolo"}}, "args/2"},
	"mode as an address":    {AgentConfig{Mode: new("https://example.org/modes#yolo")}, "mode"},
}

func bypassEnvironment() func(string) (string, bool) {
	return environ(map[string]string{"NAME": "value", "GEMINI_YOLO": "1", "OPENCODE_PERMISSION": `{"*":"ask"}`, "PATH": "/usr/bin:/bin"})
}

// TestABypassStopsTheStart, unless it is wanted: then the log and the list of agents tell of it.
func TestABypassStopsTheStart(t *testing.T) {
	for name, c := range bypassing {
		if c.agent.Command == "" {
			c.agent.Command = "agent"
		}
		_, err := New(Config{Agents: map[string]AgentConfig{"mine": c.agent}, Lookup: bypassEnvironment()})
		e := problem(t, err)
		if e.Code != domain.CodeInvalid || e.Details[0].Pointer != "/agents/mine/"+c.place {
			t.Errorf("%s: %v at %v, want it at %s", name, e, e.Details, c.place)
		}
		if !strings.Contains(e.Message, "allowBypass: true") {
			t.Errorf("%s: the way out is not told: %s", name, e.Message)
		}
		c.agent.AllowBypass, c.agent.Description = true, "Ours."
		var log bytes.Buffer
		r := registry(t, Config{
			Agents: map[string]AgentConfig{"mine": c.agent}, Lookup: bypassEnvironment(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "agent=mine") {
			t.Errorf("%s: the log says %q", name, log.String())
		}
		if info := find(t, r, "mine"); info.Description != "Ours. It may act without asking: its configuration has allowBypass." {
			t.Errorf("%s: %s", name, info.Description)
		}
	}
}

func TestWhatOnlyLooksLikeABypass(t *testing.T) {
	for name, agent := range map[string]AgentConfig{
		"a script":               {Command: "node", Args: []string{"/opt/agent.js", "--acp"}},
		"names like launchers'":  {Command: "/opt/bash-agent", Args: []string{"npx", "sh"}},
		"a flag switched off":    {Args: []string{"--yolo=false"}},
		"an asking mode":         {Args: []string{"--approval-mode", "default", "--permission-mode=plan"}, Mode: new("plan")},
		"a sandbox":              {Args: []string{"--sandbox", "workspace-write", "-a", "on-request"}},
		"a long flag":            {Args: []string{"--verify", "-key", "-replay", "--proxy-y"}},
		"words that hold flags":  {Args: []string{"--deny-tool", "--policies", "--trust", "-anew", "-sread-only", "--mode=agent", "--allow-host"}},
		"other modes' addresses": {Mode: new("https://agentclientprotocol.com/protocol/session-modes#agent")},
		"agent of another":       {Command: "copilot", Mode: new("agent")},
		"Codex, read-only":       {Command: "codex-acp", Mode: new("read-only")},
		"Codex's model":          {SetEnv: map[string]string{"CODEX_CONFIG": `{"model":"m","model_provider":"p"}`}},
		"no trust":               {SetEnv: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "false", "CLAUDE_CODE_EXECUTABLE": ""}},
		"OpenCode that asks":     {Command: "opencode", SetEnv: map[string]string{"OPENCODE_PERMISSION": `{"*":"ask"}`}},
		"OpenCode, one word":     {Command: "opencode", SetEnv: map[string]string{"OPENCODE_PERMISSION": `"ask"`}},
		"OpenCode, kind by kind": {Command: "opencode", SetEnv: map[string]string{
			"OPENCODE_PERMISSION": `{"edit":"deny","webfetch":"ask","bash":{"*":"ask","git status":"allow"}}`,
		}},
		"OpenCode, passed on":     {Command: "opencode", Env: []string{"OPENCODE_PERMISSION"}},
		"OpenCode in a folder":    {Args: []string{"--folder", "/srv/opencode"}},
		"a path":                  {Args: []string{"/srv/yolo/full-auto"}},
		"a variable switched off": {SetEnv: map[string]string{"COPILOT_ALLOW_ALL": "false"}},
		"asking OpenCode": {SetEnv: map[string]string{
			"OPENCODE_PERMISSION": `{"*":"ask","read":"allow","bash":{"git status":"allow","*":"ask"}}`,
		}},
		"asking Goose": {SetEnv: map[string]string{"GOOSE_MODE": "approve"}},
	} {
		if agent.Command == "" {
			agent.Command = "agent"
		}
		r, err := New(Config{Agents: map[string]AgentConfig{"mine": agent}, Lookup: bypassEnvironment()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r.Close()
	}
}

// TestOpenCodeOfTheTableKeepsAsking: its asking is a variable, which a configuration's own setEnv could replace.
func TestOpenCodeOfTheTableKeepsAsking(t *testing.T) {
	for value, way := range map[string]string{"{}": `{"*":"ask"}`, "": `{"*":"ask"}`, `{"*":"deny","bash":"allow"}`: "Take it out"} {
		agents := map[string]AgentConfig{"opencode": {Command: "/opt/wrapper", SetEnv: map[string]string{"OPENCODE_PERMISSION": value}}}
		_, err := New(Config{Agents: agents, Lookup: environ(nil)})
		e := problem(t, err)
		want(t, value, e.Details[0].Pointer, "/agents/opencode/setEnv/OPENCODE_PERMISSION")
		if !strings.Contains(e.Message, way) || !strings.Contains(e.Message, "allowBypass: true") {
			t.Errorf("%s: the way out is not told: %s", value, e.Message)
		}
	}
}

// TestAnAgentWithoutAnAskingModeIsToldOf: a configuration of another name has nothing of the built-in agent, its mode included.
func TestAnAgentWithoutAnAskingModeIsToldOf(t *testing.T) {
	for name, c := range map[string]struct {
		name  string
		agent AgentConfig
		told  bool
	}{
		"none":       {"mine", AgentConfig{Command: "/opt/gemini", Args: []string{"--acp"}}, true},
		"taken away": {"gemini", AgentConfig{Mode: new("")}, true},
		"a script":   {"mine", AgentConfig{Command: "node", Args: []string{"/opt/codex-acp.js"}}, true},
		"its own":    {"mine", AgentConfig{Command: "gemini", Mode: new("plan")}, false},
		"built-in":   {"gemini", AgentConfig{Model: "flash"}, false},
		"unknown":    {"mine", AgentConfig{Command: "agent", Args: []string{"gemini"}}, false},
	} {
		var log bytes.Buffer
		registry(t, Config{Agents: map[string]AgentConfig{c.name: c.agent}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		told := strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), "agent="+c.name)
		want(t, name+": "+log.String(), told, c.told)
	}
}

func TestARequestCannotChooseABypass(t *testing.T) {
	config := Config{Agents: map[string]AgentConfig{"mine": {Command: "agent"}}, Lookup: environ(nil)}
	opening := domain.Opening{Execution: domain.Execution{Request: domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: "mine", Mode: "bypassPermissions"},
	}}}
	_, err := registry(t, config).Open(t.Context(), opening)
	if e := problem(t, err); e.Code != domain.CodeInvalid || e.Details[0].Pointer != "/source/mode" {
		t.Error(err)
	}
	config.Agents["mine"] = AgentConfig{Command: "agent", AllowBypass: true}
	_, err = registry(t, config).Open(t.Context(), opening)
	if e := problem(t, err); e.Code != domain.CodeAgentUnavailable { // it came as far as looking for the program
		t.Error(err)
	}
}

const bypassingOptions = `"configOptions":[{"id":"m","category":"mode","type":"select","currentValue":"ask","options":[
	{"value":"ask","name":"Ask"},{"value":"agent-full-access","name":"Agent (full access)"},{"value":"x1","name":"YOLO"},{"value":"agent","name":"Go on"}]}]`

const bypassingModes = `"modes":{"currentModeId":"bypassPermissions","availableModes":[
	{"id":"bypassPermissions","name":"At my own risk"},{"id":"plan","name":"Plan"}]}`

// TestTheModeBehindAWordIsJudged: a mode has a name beside its id, and what asks nobody is known by either.
func TestTheModeBehindAWordIsJudged(t *testing.T) {
	for _, c := range []struct {
		offered, wanted string
		mode            string // that is refused; empty: it is fine
	}{
		{bypassingOptions, "Agent (full access)", "agent-full-access"},
		{bypassingOptions, "AGENT (FULL ACCESS)", "agent-full-access"},
		{bypassingOptions, "agent-full-access", "agent-full-access"},
		{bypassingOptions, "x1", "x1"},
		{bypassingOptions, "Ask", ""},
		{bypassingOptions, "Go on", "agent"},                    // of Codex: its program says so
		{bypassingModes, "at my own risk", "bypassPermissions"}, // in which it is already
	} {
		var offered settings.Settings
		offered.ReadSession(wire.ReadObject(json.RawMessage("{" + c.offered + "}")))
		wanted := []settings.Selection{{Option: settings.CategoryMode, Value: c.wanted, Pointer: "/source/mode"}}
		for _, allowed := range []bool{false, true} {
			config := &agent{name: "mine", AgentConfig: AgentConfig{Command: "/opt/codex-acp", AllowBypass: allowed}}
			err := config.checkOffered(wanted, offered.List())
			if allowed || c.mode == "" {
				want(t, c.wanted+" is fine", err, nil)
				continue
			}
			e := problem(t, err)
			want(t, c.wanted, e.Code, domain.CodeInvalid)
			want(t, "place", e.Details[0].Pointer, "/source/mode")
			want(t, "words", e.Message, `In the mode "`+c.mode+`", agent "mine" acts without asking anybody, and the registry `+
				`does not allow that.`)
		}
	}
}

// TestOptionsThatAskNobodyAreRefused: whichever option they hide in.
func TestOptionsThatAskNobodyAreRefused(t *testing.T) {
	for _, c := range []struct {
		id, category, value string
		allowed             bool
	}{
		{"mode", "mode", "yolo", false}, {"m", "mode", "accept-edits", false}, {"approval_policy", "other", "never", false},
		{"approval_policy", "other", "on-request", true}, {"sandbox", "other", "danger-full-access", false}, {"yolo", "toggle", "on", false},
		{"yolo", "toggle", "off", true}, {"model", "model", "auto", true}, {"effort", "thought_level", "auto", true},
	} {
		option := domain.AgentOption{ID: c.id, Category: c.category, Choices: []domain.AgentChoice{{Value: c.value}}}
		wanted := []settings.Selection{{Option: c.id, Value: c.value, Pointer: "/options/" + c.id}}
		for _, free := range []bool{false, true} {
			err := (&agent{name: "mine", AgentConfig: AgentConfig{Command: "agent", AllowBypass: free}}).checkOffered(wanted, []domain.AgentOption{option})
			if (err == nil) != (c.allowed || free) {
				t.Errorf("%+v, free %v: %v", c, free, err)
			}
		}
	}
}

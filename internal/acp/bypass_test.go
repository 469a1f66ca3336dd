package acp

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// bypassing are rows that let an agent act without asking, each with the place that gives it away.
var bypassing = map[string]struct {
	row   Row
	place string
}{
	"Claude":                {Row{Args: []string{"--dangerously-skip-permissions"}}, "args/0"},
	"Claude, made possible": {Row{Args: []string{"--allow-dangerously-skip-permissions"}}, "args/0"},
	"Claude, mode":          {Row{Args: []string{"-v", "--permission-mode", "bypassPermissions"}}, "args/2"},
	"Claude, mode joined":   {Row{Args: []string{"--permission-mode=bypassPermissions"}}, "args/0"},
	"Claude, camel case":    {Row{Args: []string{"--permissionMode=bypassPermissions"}}, "args/0"},
	"Claude, settings":      {Row{Args: []string{"--settings", `{"permissions":{"defaultMode":"bypassPermissions"}}`}}, "args/1"},
	"yolo":                  {Row{Args: []string{"--acp", "--yolo"}}, "args/1"},
	"yolo with a value":     {Row{Args: []string{"--yolo=true"}}, "args/0"},
	"yolo, short":           {Row{Args: []string{"--acp", "-y"}}, "args/1"},
	"yolo, among others":    {Row{Args: []string{"-dy"}}, "args/0"},
	"approval mode":         {Row{Args: []string{"--approval-mode", "yolo"}}, "args/1"},
	"approval mode joined":  {Row{Args: []string{"--approval-mode=yolo"}}, "args/0"},
	"Codex":                 {Row{Args: []string{"--dangerously-bypass-approvals-and-sandbox"}}, "args/0"},
	"Codex, full auto":      {Row{Args: []string{"--full-auto"}}, "args/0"},
	"Codex, never asks":     {Row{Args: []string{"--ask-for-approval", "never"}}, "args/1"},
	"Codex, never, short":   {Row{Args: []string{"-a", "never"}}, "args/1"},
	"Codex, no sandbox":     {Row{Args: []string{"--sandbox=danger-full-access"}}, "args/0"},
	"Codex, -c":             {Row{Args: []string{"-c", `approval_policy="never"`}}, "args/1"},
	"Codex, -c with spaces": {Row{Args: []string{"-c", `sandbox_mode = "danger-full-access"`}}, "args/1"},
	"Copilot, tools":        {Row{Args: []string{"--acp", "--allow-all-tools"}}, "args/1"},
	"Copilot, paths":        {Row{Args: []string{"--allow-all-paths"}}, "args/0"},
	"Copilot, all":          {Row{Args: []string{"--allow-all"}}, "args/0"},
	"Copilot, variable":     {Row{SetEnv: map[string]string{"COPILOT_ALLOW_ALL": "true"}}, "setEnv/COPILOT_ALLOW_ALL"},
	"others: trust":         {Row{Args: []string{"--trust-all-tools"}}, "args/0"},
	"in a shell's line":     {Row{Command: "sh", Args: []string{"-c", "exec gemini --acp --yolo"}}, "args/1"},
	"through a launcher":    {Row{Command: "npx", Args: []string{"-y", "@google/gemini-cli", "--acp", "-y"}}, "args/3"},
	"OpenCode, all":         {Row{SetEnv: map[string]string{"OPENCODE_PERMISSION": `"allow"`}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, commands":    {Row{SetEnv: map[string]string{"OPENCODE_PERMISSION": `{"bash":"allow"}`}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, nested":      {Row{SetEnv: map[string]string{"OPENCODE_PERMISSION": `{"bash":{"*":"allow"}}`}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, unreadable":  {Row{SetEnv: map[string]string{"OPENCODE_PERMISSION": `{`}}, "setEnv/OPENCODE_PERMISSION"},
	"OpenCode, whole":       {Row{SetEnv: map[string]string{"OPENCODE_CONFIG_CONTENT": `{"permission":{"*":"allow"}}`}}, "setEnv/OPENCODE_CONFIG_CONTENT"},
	"OpenCode, in any case": {Row{SetEnv: map[string]string{"OPENCODE_YOLO": "1"}}, "setEnv/OPENCODE_YOLO"},
	"Goose":                 {Row{SetEnv: map[string]string{"GOOSE_MODE": "auto"}}, "setEnv/GOOSE_MODE"},
	"passed on":             {Row{Env: []string{"NAME", "GEMINI_YOLO"}}, "env/1"},
	"mode of Claude":        {Row{Mode: new("bypassPermissions")}, "mode"},
	"mode of Gemini":        {Row{Mode: new("yolo")}, "mode"},
	"mode of Codex":         {Row{Mode: new("full-access")}, "mode"},
	"mode of Codex 2":       {Row{Mode: new("agent-full-access")}, "mode"},
	"mode as an address":    {Row{Mode: new("https://example.org/modes#yolo")}, "mode"},
}

func bypassEnvironment() func(string) (string, bool) {
	return environ(map[string]string{"NAME": "value", "GEMINI_YOLO": "1", "PATH": "/usr/bin:/bin"})
}

func TestABypassStopsTheStart(t *testing.T) {
	for name, c := range bypassing {
		if c.row.Command == "" {
			c.row.Command = "agent"
		}
		_, err := NewRegistry(Config{Agents: map[string]Row{"mine": c.row}, Lookup: bypassEnvironment()})
		e := problem(t, err)
		if e.Code != domain.CodeInvalid || e.Details[0].Pointer != "/agents/mine/"+c.place {
			t.Errorf("%s: %v at %v, want it at %s", name, e, e.Details, c.place)
		}
		if !strings.Contains(e.Message, "allowBypass: true") {
			t.Errorf("%s: the way out is not told: %s", name, e.Message)
		}
	}
}

func TestABypassThatIsWantedIsToldOf(t *testing.T) {
	for name, c := range bypassing {
		if c.row.Command == "" {
			c.row.Command = "agent"
		}
		c.row.AllowBypass, c.row.Description = true, "Ours."
		var log bytes.Buffer
		r := registry(t, Config{
			Agents: map[string]Row{"mine": c.row}, Lookup: bypassEnvironment(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
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
	for name, row := range map[string]Row{
		"a launcher's own flag":   {Command: "npx", Args: []string{"-y", "@google/gemini-cli", "--acp"}},
		"a launcher in a shell":   {Command: "sh", Args: []string{"-c", "npx --yes @google/gemini-cli --acp"}},
		"a flag switched off":     {Args: []string{"--yolo=false"}},
		"an asking mode":          {Args: []string{"--approval-mode", "default", "--permission-mode=plan"}, Mode: new("acceptEdits")},
		"a sandbox":               {Args: []string{"--sandbox", "workspace-write", "-a", "on-request"}},
		"a long flag":             {Args: []string{"--verify", "-key", "--proxy-y"}},
		"a path":                  {Args: []string{"/srv/yolo/full-auto"}},
		"a variable switched off": {SetEnv: map[string]string{"COPILOT_ALLOW_ALL": "false"}},
		"asking OpenCode": {SetEnv: map[string]string{
			"OPENCODE_PERMISSION": `{"*":"ask","read":"allow","bash":{"git status":"allow","*":"ask"}}`,
		}},
		"asking Goose": {SetEnv: map[string]string{"GOOSE_MODE": "approve"}},
	} {
		if row.Command == "" {
			row.Command = "agent"
		}
		r, err := NewRegistry(Config{Agents: map[string]Row{"mine": row}, Lookup: bypassEnvironment()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r.Close()
	}
}

func TestARequestCannotChooseABypass(t *testing.T) {
	config := Config{Agents: map[string]Row{"mine": {Command: "agent"}}, Lookup: environ(nil)}
	opening := domain.Opening{Execution: domain.Execution{Request: domain.Request{
		Source: domain.Source{Type: domain.SourceACP, Command: "mine", Mode: "bypassPermissions"},
	}}}
	_, err := registry(t, config).Open(t.Context(), opening)
	if e := problem(t, err); e.Code != domain.CodeInvalid || e.Details[0].Pointer != "/source/mode" {
		t.Error(err)
	}
	config.Agents["mine"] = Row{Command: "agent", AllowBypass: true}
	_, err = registry(t, config).Open(t.Context(), opening)
	if e := problem(t, err); e.Code != domain.CodeAgentUnavailable { // it came as far as looking for the program
		t.Error(err)
	}
}

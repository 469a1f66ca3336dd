package registry

import (
	"encoding/json"
	"slices"
	"strings"
)

// bypassTable lists the settings that let one agent act without asking anybody. Case, - and _ of flags and modes do not count, since
// parsers take --allowAllTools for --allow-all-tools. A * stands for any text.
type bypassTable struct {
	flags     []string            // any value turns them on, but for one that means off
	grants    []string            // flags whose value says what is done without asking; no value turns them off
	values    map[string][]string // flags that are harmless but for these values
	modeFlags []string            // flags whose value is a mode
	modes     []string            // ids or names of modes, and of what is like a mode
	ownModes  []string            // modes of this agent whose names mean something harmless with others
	texts     []string            // parts of arguments and of variables that give it away, such as JSON for --settings
	variables map[string]func(value string) bool

	modeVariables []string // variables whose value is a mode
}

// bypassTables lists the bypasses of each built-in agent, and under otherAgents those of others. Every agent is judged by all
// tables: nobody knows what a program of another name runs, and a flag that an agent does not know is of no use to it.
//
// The modes are those in which agents do something that counts without asking, even if it only edits files or does what a model judges
// harmless.
var bypassTables = map[string]bypassTable{
	"claude": {
		flags:     []string{"--dangerously*", "--allow-dangerously*"},
		grants:    []string{"--allowed-tools"},
		modeFlags: []string{"--permission-mode"},
		modes:     []string{"bypassPermissions", "acceptEdits"},
		texts:     []string{"bypassPermissions"},
		variables: map[string]func(string) bool{
			"CLAUDE_CODE_EXECUTABLE": func(value string) bool { return value != "" }, // another program in place of Claude Code, or the same with flags
			"*DANGEROUSLY*":          isOn,
			"*SKIP_PERMISSIONS*":     isOn,
		},
		modeVariables: []string{"*_PERMISSION_MODE"},
	},
	"gemini": {
		flags:     []string{"-y", "--yolo", "--skip-trust"},
		grants:    []string{"--allowed-tools", "--policy", "--admin-policy"},
		modeFlags: []string{"--approval-mode"},
		modes:     []string{"yolo", "autoEdit"},
		variables: map[string]func(string) bool{"*YOLO*": isOn, "*_TRUST_WORKSPACE": isOn},

		modeVariables: []string{"*_APPROVAL_MODE"},
	},
	"codex": {
		flags: []string{"--full-auto", "--dangerously*"},
		values: map[string][]string{
			"-a": {"never"}, "--ask-for-approval": {"never"}, "--approval-policy": {"never"},
			"-s": {"danger-full-access"}, "--sandbox": {"danger-full-access"}, "--sandbox-mode": {"danger-full-access"},
		},
		modes:     []string{"auto", "full-access", "agent-full-access", "danger-full-access", "workspace-write"},
		ownModes:  []string{"agent"}, // a model decides what a person is asked; Copilot's mode of the same name asks
		texts:     []string{"approval_policy=never", "approval_policy:never", "danger-full-access", "agent-full-access"},
		variables: map[string]func(string) bool{"CODEX_CONFIG": codexConfigures},
	},
	"opencode": {
		variables: map[string]func(string) bool{
			openCodePermission:        func(value string) bool { return openCodeAllows([]byte(value), false) },
			"OPENCODE_CONFIG_CONTENT": openCodeConfigures,
		},
	},
	"qwen": {
		flags:     []string{"-y", "--yolo"},
		grants:    []string{"--allowed-tools"},
		modeFlags: []string{"--approval-mode"},
		modes:     []string{"yolo", "auto-edit", "auto"},
	},
	"copilot": {
		flags:     []string{"--allow-all*", "--autopilot"},
		grants:    []string{"--allow-tool*", "--allow-url*"},
		modeFlags: []string{"--mode"},
		modes:     []string{"autopilot", "allow-all"},
		variables: map[string]func(string) bool{"*_ALLOW_ALL": isOn},
	},
	"cursor": {
		flags: []string{"-f", "--force", "--yolo", "--approve-mcps"},
	},
	otherAgents: {
		flags: []string{
			"--yes", "--yes-always", "--trust-all-tools", "--skip-permissions-unsafe", "--auto-approve", "--auto-approve-all", "--no-approval",
		},
		modes:     []string{"full-auto"},
		variables: map[string]func(string) bool{"GOOSE_MODE": func(value string) bool { return compacted(value) == "auto" }},
	},
}

const otherAgents = "others"

// shortFlags are the short flags of Gemini and Qwen, which may stand together: -dsy is -d -s -y. An unknown letter stops them, so
// that -key is none of theirs; neither is a word that is longer than anybody joins.
const (
	shortFlags    = "acdehilmoprsvy"
	longestJoined = 5
)

// compacted takes away what spellings differ in.
func compacted(text string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "", `"`, "", "'", "", `\`, "").Replace(text))
}

// isOn tells whether a value does not switch a flag off.
func isOn(value string) bool {
	return !slices.Contains([]string{"", "0", "false", "no", "off", "n"}, strings.ToLower(value))
}

// codexConfigures tells whether a configuration of Codex says more than which model answers. Much in there decides what is
// asked, so that only what is known not to is let through.
func codexConfigures(value string) bool {
	var config map[string]json.RawMessage
	if value != "" && json.Unmarshal([]byte(value), &config) != nil {
		return true
	}
	for key := range config {
		if !strings.HasPrefix(key, "model") && key != "openai_base_url" {
			return true
		}
	}
	return false
}

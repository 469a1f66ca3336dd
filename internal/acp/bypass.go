package acp

import (
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"signoff/internal/domain"
)

// bypass is a setting that lets an agent act without asking anybody. Where one stands in a row, people would be asked
// nothing and see it too late: the server does not start with it, unless the row says that it is wanted.
type bypass struct {
	place    string // below the row: args/1
	spelling string // as it stands there
}

// findBypasses looks for all spellings that the known agents have. A variable that is passed on may hold one, too.
func (r *row) findBypasses(lookup func(string) (string, bool)) []bypass {
	var found []bypass
	scan := flagScan{launcher: launches(r.Command)}
	for i, argument := range r.Args {
		if spelling := scan.argument(argument); spelling != "" {
			found = append(found, bypass{"args/" + strconv.Itoa(i), spelling})
		}
	}
	for i, name := range r.Env {
		value, set := lookup(name)
		if _, replaced := r.SetEnv[name]; set && !replaced && bypassVariable(name, value) {
			found = append(found, bypass{"env/" + strconv.Itoa(i), name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.SetEnv)) {
		if bypassVariable(name, r.SetEnv[name]) {
			found = append(found, bypass{"setEnv/" + name, name})
		}
	}
	if bypassMode(r.mode()) {
		found = append(found, bypass{"mode", "mode " + r.mode()})
	}
	return found
}

// judgeBypasses refuses a row that lets its agent act without asking and does not say that this is wanted.
func (r *row) judgeBypasses(lookup func(string) (string, bool), logger *slog.Logger) error {
	for _, found := range r.findBypasses(lookup) {
		if !r.AllowBypass {
			return domain.Invalid(r.pointer(found.place), "with %s, agent %q acts without asking anybody. Take it out; if that "+
				"is what you want, say so with allowBypass: true", found.spelling, r.name)
		}
		logger.Warn("an agent acts without asking anybody, as its configuration allows", "agent", r.name, "with", found.spelling)
	}
	return nil
}

// flagScan reads arguments one after the other.
type flagScan struct {
	launcher bool   // the flags so far are those of npx and its like, which asks before it downloads: -y is about that
	wants    string // the flag before, whose value may come next
}

// argument returns the bypass that the argument is, or nothing. One argument may hold a whole command line for a shell.
func (s *flagScan) argument(argument string) string {
	if compact := compacted(argument); slices.ContainsFunc(bypassTexts, func(text string) bool { return strings.Contains(compact, text) }) {
		return argument
	}
	for _, word := range strings.FieldsFunc(argument, func(c rune) bool { return strings.ContainsRune(" \t\n;&|'\"()", c) }) {
		if s.word(word) {
			return word
		}
	}
	return ""
}

func (s *flagScan) word(word string) bool {
	flag, value, joined := strings.Cut(word, "=")
	wants := s.wants
	s.wants = ""
	if !strings.HasPrefix(flag, "-") {
		s.launcher = launches(word)
		return bypassValue(wants, word)
	}
	if s.launcher && (flag == "-y" || flag == "--yes") {
		return false
	}
	if joined {
		return bypassValue(flag, value) || bypassFlag(flag) && !off(value)
	}
	s.wants = flag
	return bypassFlag(flag)
}

// launches tells of programs that fetch another one and run it.
func launches(command string) bool {
	return slices.Contains([]string{"npx", "pnpx", "bunx", "dlx", "uvx", "exec"}, filepath.Base(command))
}

// bypassTexts give an agent away wherever they stand: in JSON for --settings, or in -c for Codex.
var bypassTexts = []string{
	"bypasspermissions", "dangerfullaccess", "approvalpolicy=never", "approvalpolicy:never", "agentfullaccess",
}

// compacted takes away what spellings differ in.
func compacted(text string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "", `"`, "", "'", "", `\`, "").Replace(text))
}

// bypassFlag knows flags that need no value. Parsers take --allowAllTools for --allow-all-tools.
func bypassFlag(flag string) bool {
	if flag == "-y" {
		return true
	}
	if short := strings.TrimPrefix(flag, "-"); len(short) == 2 && short[0] != '-' && strings.Contains(short, "y") {
		return true // -dy is -d -y
	}
	if !strings.HasPrefix(flag, "--") {
		return false
	}
	name := compacted(flag)
	if strings.HasPrefix(name, "dangerously") || strings.HasPrefix(name, "allowdangerously") || strings.HasPrefix(name, "allowall") {
		return true
	}
	return slices.Contains([]string{
		"yolo", "fullauto", "trustalltools", "skippermissionsunsafe", "autoapprove", "autoapproveall", "noapproval",
	}, name)
}

// bypassValue knows flags that are harmless but for some of their values.
func bypassValue(flag, value string) bool {
	if !strings.HasPrefix(flag, "-") {
		return false
	}
	value = compacted(value)
	switch name := compacted(flag); name {
	case "permissionmode", "approvalmode", "mode":
		return bypassMode(value)
	case "askforapproval", "approvalpolicy":
		return value == "never"
	case "sandbox", "sandboxmode":
		return value == "dangerfullaccess"
	default:
		return flag == "-a" && value == "never" || flag == "-s" && value == "dangerfullaccess"
	}
}

// bypassMode knows the modes in which agents ask nobody. An id may be an address, with the mode as its fragment.
func bypassMode(mode string) bool {
	return slices.Contains([]string{
		"bypasspermissions", "yolo", "fullaccess", "agentfullaccess", "dangerfullaccess", "allowall",
	}, compacted(mode[strings.LastIndexByte(mode, '#')+1:]))
}

// bypassRefused tells that a mode is not to be had.
func bypassRefused(agent, mode string) error {
	return domain.Invalid("/source/mode", "In the mode %q, agent %q acts without asking anybody, and the registry does "+
		"not allow that.", beginning(mode, 100), agent)
}

// bypassVariable knows variables that do the same as the flags.
func bypassVariable(name, value string) bool {
	name = strings.ToUpper(name)
	switch {
	case name == openCodePermission:
		return openCodeAllows([]byte(value), false)
	case name == "OPENCODE_CONFIG_CONTENT":
		var config struct {
			Permission json.RawMessage `json:"permission"`
		}
		return json.Unmarshal([]byte(value), &config) != nil || openCodeAllows(config.Permission, false)
	case name == "GOOSE_MODE":
		return strings.EqualFold(value, "auto")
	case strings.HasSuffix(name, "_APPROVAL_MODE") || strings.HasSuffix(name, "_PERMISSION_MODE"):
		return bypassMode(value)
	case strings.Contains(name, "YOLO") || strings.HasSuffix(name, "_ALLOW_ALL") || strings.Contains(name, "DANGEROUSLY") ||
		strings.Contains(name, "SKIP_PERMISSIONS"):
		return !off(value)
	default:
		compact := compacted(value)
		return slices.ContainsFunc(bypassTexts, func(text string) bool { return strings.Contains(compact, text) })
	}
}

// off tells whether a value switches a flag off.
func off(value string) bool {
	return slices.Contains([]string{"", "0", "false", "no", "off", "n"}, strings.ToLower(value))
}

// harmless are OpenCode's permissions that only look.
var harmless = []string{"read", "glob", "grep", "list", "lsp", "todoread", "todowrite", "question", "skill", "codesearch"}

// openCodeAllows tells whether OpenCode's permissions allow everything of a kind: "allow", or {"bash": "allow"}, or
// {"bash": {"*": "allow"}}. What cannot be read is taken for the worst.
func openCodeAllows(permission json.RawMessage, nested bool) bool {
	if len(permission) == 0 {
		return false
	}
	var word string
	if json.Unmarshal(permission, &word) == nil {
		return word == "allow"
	}
	var byKind map[string]json.RawMessage
	if json.Unmarshal(permission, &byKind) != nil {
		return true
	}
	for kind, rule := range byKind {
		if nested && kind != "*" && kind != "**" || !nested && slices.Contains(harmless, kind) {
			continue
		}
		if openCodeAllows(rule, true) {
			return true
		}
	}
	return false
}

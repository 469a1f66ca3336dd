package acp

import (
	"cmp"
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
	remedy   string // what to do about it; empty: take it out
}

// findBypasses looks for all spellings that the known agents have. A variable that is passed on may hold one, too.
func (r *row) findBypasses(lookup func(string) (string, bool)) []bypass {
	var found []bypass
	var scan flagScan
	scan.program(r.Command)
	for i, argument := range r.Args {
		if spelling := scan.argument(argument); spelling != "" {
			found = append(found, bypass{place: "args/" + strconv.Itoa(i), spelling: spelling})
		}
	}
	for i, name := range r.Env {
		value, set := lookup(name)
		if _, replaced := r.SetEnv[name]; set && !replaced && bypassVariable(name, value) {
			found = append(found, bypass{place: "env/" + strconv.Itoa(i), spelling: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.SetEnv)) {
		if bypassVariable(name, r.SetEnv[name]) {
			found = append(found, bypass{place: "setEnv/" + name, spelling: name})
		}
	}
	if bypassModeOf(r.name, r.argv(), r.mode()) {
		found = append(found, bypass{place: "mode", spelling: "mode " + r.mode()})
	}
	if len(found) == 0 && r.isOpenCode() && !openCodeAsked(r.variable(openCodePermission, lookup)) {
		found = append(found, bypass{
			place: "setEnv/" + openCodePermission, spelling: "these permissions of OpenCode",
			remedy: "Set " + openCodePermission + ` to {"*":"ask"} in setEnv, or have it ask for edit, bash and webfetch`,
		})
	}
	return found
}

// variable is what the agent gets of this name, or nothing.
func (r *row) variable(name string, lookup func(string) (string, bool)) (value string) {
	if value, set := r.SetEnv[name]; set {
		return value
	}
	if slices.Contains(r.Env, name) {
		value, _ = lookup(name)
	}
	return value
}

func (r *row) argv() []string { return append([]string{r.Command}, r.Args...) }

// isOpenCode tells of rows that are OpenCode under any name. It asks before nothing in its folder unless it is told to,
// and a row of another name has nothing of the built-in one that tells it.
func (r *row) isOpenCode() bool {
	return canonical(r.name) == "opencode" || runsProgram(r.argv(), "opencode", "opencode-ai")
}

// judgeBypasses refuses a row that lets its agent act without asking and does not say that this is wanted.
func (r *row) judgeBypasses(lookup func(string) (string, bool), logger *slog.Logger) error {
	for _, found := range r.findBypasses(lookup) {
		if !r.AllowBypass {
			return domain.Invalid(r.pointer(found.place), "with %s, agent %q acts without asking anybody. %s; if that "+
				"is what you want, say so with allowBypass: true", found.spelling, r.name, cmp.Or(found.remedy, "Take it out"))
		}
		logger.Warn("an agent acts without asking anybody, as its configuration allows", "agent", r.name, "with", found.spelling)
	}
	return nil
}

// warnOfOwnMode tells of a row that runs a well-known agent without a mode: that agent works in a mode of its own, in
// which it may ask nobody. The row of the agent's own name would have had one.
func (r *row) warnOfOwnMode(logger *slog.Logger) {
	if r.mode() != "" || r.AllowBypass {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(builtins)) {
		if known := builtins[name].row; known.Mode != nil && (canonical(r.name) == name || runsProgram(r.argv(), known.Command)) {
			logger.Warn("no mode is set in which the agent asks, so that it works in one of its own", "agent", r.name,
				"program", known.Command, "askingMode", *known.Mode)
		}
	}
}

// flagScan reads arguments one after the other.
type flagScan struct {
	starts   bool   // the next word that is no flag is a program
	shell    bool   // a shell reads the words: what stands behind a semicolon is a program, too
	manager  bool   // the program is npm or its like, which are launchers with some of their commands
	launcher bool   // the flags so far are those of npx and its like, which asks before it downloads: -y is about that
	wants    string // the flag before, whose value may come next
}

// breaks part a command line into words; stops begin another command in it.
const (
	breaks = " \t\r\n'\""
	stops  = ";&|()\n"
)

// argument returns the bypass that the argument is, or nothing. One argument may hold a whole command line for a shell.
func (s *flagScan) argument(argument string) string {
	if compact := compacted(argument); slices.ContainsFunc(bypassTexts, func(text string) bool { return strings.Contains(compact, text) }) {
		return argument
	}
	for i, command := range strings.FieldsFunc(argument, func(c rune) bool { return strings.ContainsRune(stops, c) }) {
		s.starts = s.starts || s.shell && i > 0
		for _, word := range strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(breaks, c) }) {
			if s.word(word) {
				return word
			}
		}
	}
	return ""
}

func (s *flagScan) word(word string) bool {
	flag, value, joined := strings.Cut(word, "=")
	wants := s.wants
	s.wants = ""
	if !strings.HasPrefix(flag, "-") {
		s.plain(word, wants)
		return bypassValue(wants, word)
	}
	if s.launcher && (flag == "-y" || flag == "--yes") {
		return false
	}
	if joined {
		return bypassValue(flag, value) || bypassGrant(flag) || bypassFlag(flag) && !off(value)
	}
	s.wants = flag
	return joinedBypassValue(flag) || bypassFlag(flag) || bypassGrant(flag)
}

// plain takes a word that is no flag.
func (s *flagScan) plain(word, wants string) {
	switch {
	case s.starts && strings.Contains(word, "="): // a variable for the program, which is still to come
	case s.starts:
		s.program(word)
	case s.manager:
		s.manager, s.launcher = false, slices.Contains([]string{"exec", "dlx", "x"}, word)
	case s.launcher && (wants == "-p" || wants == "--package"): // the program is still to come
	default:
		s.launcher = false
	}
}

// program takes the word that says what is run.
func (s *flagScan) program(word string) {
	name := programName(word)
	shell := slices.Contains([]string{"sh", "bash", "dash", "zsh"}, name)
	s.shell = s.shell || shell
	s.starts = shell || slices.Contains([]string{"env", "exec", "nohup", "setsid", "nice"}, name)
	s.manager = slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, name)
	s.launcher = launches(word)
}

// launches tells of programs that fetch another one and run it.
func launches(command string) bool {
	return slices.Contains([]string{"npx", "pnpx", "bunx", "uvx"}, programName(command))
}

// programName is a program without its folder, version and ending.
func programName(word string) string {
	name := filepath.Base(word)
	if at := strings.IndexByte(name, '@'); at > 0 {
		name = name[:at]
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, ".js"), ".exe")
}

// runsProgram tells whether a command line runs one of these. Behind a launcher or a shell it may be any of the words.
func runsProgram(argv []string, names ...string) bool {
	var first flagScan
	first.program(argv[0])
	if first.starts || first.manager || first.launcher || programName(argv[0]) == "node" {
		argv = strings.FieldsFunc(strings.Join(argv, " "), func(c rune) bool { return strings.ContainsRune(breaks+stops, c) })
	} else {
		argv = argv[:1]
	}
	return slices.ContainsFunc(argv, func(word string) bool { return slices.Contains(names, programName(word)) })
}

// bypassTexts give an agent away wherever they stand: in JSON for --settings, or in -c for Codex.
var bypassTexts = []string{
	"bypasspermissions", "dangerfullaccess", "approvalpolicy=never", "approvalpolicy:never", "agentfullaccess",
}

// compacted takes away what spellings differ in.
func compacted(text string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "", `"`, "", "'", "", `\`, "").Replace(text))
}

// clustered are the letters that agents with -y have as flags. One that is unknown to them stops them: -key is no cluster,
// and neither is a word that is longer than anybody clusters.
const clustered = "acdehilmoprsvy"

const longestCluster = 5

// bypassFlag knows flags that need no value. Parsers take --allowAllTools for --allow-all-tools.
func bypassFlag(flag string) bool {
	if flag == "-y" {
		return true
	}
	if short := strings.TrimPrefix(flag, "-"); strings.Contains(short, "y") &&
		(len(short) == 2 && short[0] != '-' || len(short) <= longestCluster && strings.Trim(strings.ToLower(short), clustered) == "") {
		return true // -dsy is -d -s -y
	}
	if !strings.HasPrefix(flag, "--") {
		return false
	}
	name := compacted(flag)
	if strings.HasPrefix(name, "dangerously") || strings.HasPrefix(name, "allowdangerously") || strings.HasPrefix(name, "allowall") {
		return true
	}
	return slices.Contains([]string{
		"y", "yes", "yesalways", "yolo", "fullauto", "trustalltools", "skippermissionsunsafe", "autoapprove", "autoapproveall",
		"noapproval", "autopilot", "skiptrust",
	}, name)
}

// bypassGrant knows flags whose value says what is done without asking. No value switches them off.
func bypassGrant(flag string) bool {
	if !strings.HasPrefix(flag, "--") {
		return false
	}
	name := compacted(flag)
	return strings.HasPrefix(name, "allowtool") || strings.HasPrefix(name, "allowurl") ||
		slices.Contains([]string{"allowedtools", "policy", "adminpolicy"}, name)
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

// joinedBypassValue knows short flags with the value right behind: -anever.
func joinedBypassValue(flag string) bool {
	return len(flag) > 2 && flag[1] != '-' && bypassValue(flag[:2], flag[2:])
}

// bypassModeOf is bypassMode for one agent. Codex's mode agent has a model decide what a person is asked, while Copilot's
// mode of the same name asks.
func bypassModeOf(name string, argv []string, mode string) bool {
	codex := canonical(name) == "codex" || runsProgram(argv, "codex-acp")
	return bypassMode(mode) || codex && modeWord(mode) == "agent"
}

func modeWord(mode string) string { return compacted(mode[strings.LastIndexByte(mode, '#')+1:]) }

// bypassMode knows the modes in which agents do something that counts without asking, be it only edits, or what a model
// takes for harmless. An id may be an address, with the mode as its fragment.
func bypassMode(mode string) bool {
	return slices.Contains([]string{
		"bypasspermissions", "yolo", "fullaccess", "agentfullaccess", "dangerfullaccess", "allowall",
		"acceptedits", "auto", "autoedit", "autopilot", "fullauto", "workspacewrite",
	}, modeWord(mode))
}

// bypassOption is bypassMode for the value of any option: agents could list what they have flags for among their options.
func bypassOption(agent string, argv []string, option domain.AgentOption, value string) bool {
	if option.Category == categoryMode {
		return bypassModeOf(agent, argv, value)
	}
	for _, name := range []string{option.ID, option.Name} {
		flag := "--" + name
		if bypassValue(flag, value) || (bypassFlag(flag) || bypassGrant(flag)) && !off(value) {
			return true
		}
	}
	return false
}

// bypassRefused tells that a value is not to be had.
func bypassRefused(wanted selection, agent, value string) error {
	with := "In the mode"
	if wanted.option != categoryMode {
		with = "With " + strconv.Quote(beginning(wanted.option, 100)) + " set to"
	}
	return domain.Invalid(wanted.pointer, "%s %q, agent %q acts without asking anybody, and the registry does "+
		"not allow that.", with, beginning(value, 100), agent)
}

// bypassVariable knows variables that do the same as the flags.
func bypassVariable(name, value string) bool {
	name = strings.ToUpper(name)
	switch {
	case name == openCodePermission:
		return openCodeAllows([]byte(value), false)
	case name == "OPENCODE_CONFIG_CONTENT":
		return openCodeConfigures(value)
	case name == "CODEX_CONFIG":
		return codexConfigures(value)
	case name == "CLAUDE_CODE_EXECUTABLE": // another program in place of Claude Code, or the same with flags
		return value != ""
	case name == "GOOSE_MODE":
		return strings.EqualFold(value, "auto")
	case strings.HasSuffix(name, "_APPROVAL_MODE") || strings.HasSuffix(name, "_PERMISSION_MODE"):
		return bypassMode(value)
	case strings.Contains(name, "YOLO") || strings.HasSuffix(name, "_ALLOW_ALL") || strings.Contains(name, "DANGEROUSLY") ||
		strings.Contains(name, "SKIP_PERMISSIONS") || strings.HasSuffix(name, "_TRUST_WORKSPACE"):
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

// openCodeConfigures tells whether a configuration of OpenCode allows something. What it says of one of OpenCode's own
// agents, such as build, wins over OPENCODE_PERMISSION.
func openCodeConfigures(value string) bool {
	type permitted struct {
		Permission json.RawMessage `json:"permission"`
	}
	var config struct {
		permitted
		Agent map[string]permitted `json:"agent"`
		Mode  map[string]permitted `json:"mode"`
	}
	if value != "" && json.Unmarshal([]byte(value), &config) != nil {
		return true
	}
	allows := openCodeAllows(config.Permission, false)
	for _, own := range slices.Concat(slices.Collect(maps.Values(config.Agent)), slices.Collect(maps.Values(config.Mode))) {
		allows = allows || openCodeAllows(own.Permission, false)
	}
	return allows
}

// openCodeAsked tells whether OpenCode is told to ask before it edits, runs or fetches something. Where nothing is said of
// a kind, it does not ask.
func openCodeAsked(permission string) bool {
	var rules any
	if json.Unmarshal([]byte(permission), &rules) != nil {
		return false
	}
	byKind, several := rules.(map[string]any)
	if !several {
		return asksOrDenies(rules)
	}
	for _, kind := range []string{"edit", "bash", "webfetch"} {
		rule, said := byKind[kind]
		if !said {
			rule = byKind["*"]
		}
		if byPattern, nested := rule.(map[string]any); nested {
			rule = cmp.Or(byPattern["*"], byKind["*"])
		}
		if !asksOrDenies(rule) {
			return false
		}
	}
	return true
}

func asksOrDenies(rule any) bool { return rule == "ask" || rule == "deny" }

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

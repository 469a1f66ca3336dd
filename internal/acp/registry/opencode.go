package registry

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

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

// openCodeAsked reports whether OpenCode is configured to ask before it edits, runs or fetches something. Without a rule for
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

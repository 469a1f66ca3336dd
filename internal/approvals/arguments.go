package approvals

import (
	"encoding/json"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"signoff/internal/domain"
	"signoff/internal/jcs"
)

// Patterns for arguments of MCP tools. They compare text: what a server makes of an argument, only the server knows. So an allowing pattern has to
// hold for certain, and a restricting one that may hold asks.

// Limits of the patterns of one rule.
const (
	maxArguments    = 16
	maxArgumentName = 256
)

// checkArguments returns the mistake in patterns that a client wrote.
func checkArguments(m domain.Matcher) error {
	switch {
	case len(m.Arguments) > 0 && m.Server == "":
		return domain.Invalid("/matcher/arguments", "Patterns for arguments are about the tools of an MCP server: name it in mcpServer.")
	case len(m.Arguments) > maxArguments:
		return domain.Invalid("/matcher/arguments", "A rule has patterns for at most %d arguments.", maxArguments)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Arguments)) {
		at := domain.Pointer("matcher", "arguments", name)
		switch pattern := m.Arguments[name]; {
		case name == "" || len(name) > maxArgumentName || strings.HasPrefix(name, "/") && !plainPointer(name):
			return domain.Invalid(at, "The key is the name of an argument, or a JSON pointer to a value below one, with at most %d bytes.", maxArgumentName)
		case pattern == "" || !readable(pattern):
			return domain.Invalid(at, "The pattern is a glob for the text of the value: without braces, with at most %d groups of stars, and at most %d bytes.", maxStars, maxGlob)
		}
	}
	return nil
}

// plainPointer reports whether each ~ of a JSON pointer begins an escape (RFC 6901).
func plainPointer(pointer string) bool {
	for _, after := range strings.Split(pointer, "~")[1:] {
		if !strings.HasPrefix(after, "0") && !strings.HasPrefix(after, "1") {
			return false
		}
	}
	return true
}

var pointerNames = strings.NewReplacer("~1", "/", "~0", "~")

// steps is the way to a value: a name at the top of the arguments, or the steps of a JSON pointer.
func argumentSteps(key string) []string {
	if !strings.HasPrefix(key, "/") {
		return []string{key}
	}
	way := strings.Split(key[1:], "/")
	for i, step := range way {
		way[i] = pointerNames.Replace(step)
	}
	return way
}

// documentOf reads the arguments of a call; nil where they have no canonical form.
func documentOf(arguments json.RawMessage) any {
	canonical, err := jcs.Canonical(arguments) // so that 1.0 and 1 are the same, and no name stands there twice
	if err != nil {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(canonical)))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) != nil {
		return nil
	}
	return document
}

// argumentsAllowed reports whether all patterns hold for certain.
func (j *judging) argumentsAllowed(patterns map[string]string) bool {
	if len(patterns) == 0 {
		return true
	}
	document := j.document()
	for key, pattern := range patterns {
		found := valuesAt(document, argumentSteps(key))
		if len(found) != 1 || !found[0].exact { // a server that ignores the case of names may take another value
			return false
		}
		text, plain := scalar(found[0].value)
		if !plain || !surelyIn(pattern, text) {
			return false
		}
	}
	return true
}

// argumentsRestricted returns how far the patterns of a denying or asking rule hold: all of them must.
func (j *judging) argumentsRestricted(patterns map[string]string) fit {
	if len(patterns) == 0 {
		return certain
	}
	document, all := j.document(), certain
	for key, pattern := range patterns {
		all = min(all, restrictedAt(valuesAt(document, argumentSteps(key)), pattern))
	}
	return all
}

// restrictedAt compares the values that may be the meant one. Where there is none, the server may have a default.
func restrictedAt(found []argument, pattern string) fit {
	result := apart
	if !slices.ContainsFunc(found, func(a argument) bool { return a.exact }) {
		result = perhaps
	}
	for _, a := range found {
		result = max(result, within(a.value, pattern))
	}
	return result
}

// within compares a value, or whatever is in it.
func within(value any, pattern string) fit {
	if text, plain := scalar(value); plain {
		return maybeIn(pattern, text)
	}
	result := perhaps
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			result = max(result, within(inner, pattern))
		}
	case []any:
		for _, inner := range value {
			result = max(result, within(inner, pattern))
		}
	}
	return result
}

// argument is a value that may be the one that a pattern means. exact: it has the very name.
type argument struct {
	value any
	exact bool
}

// valuesAt finds the values on a way, also those whose names differ in their case alone.
func valuesAt(document any, way []string) []argument {
	at := []argument{{document, true}}
	for _, step := range way {
		var next []argument
		for _, a := range at {
			switch value := a.value.(type) {
			case map[string]any:
				for name, inner := range value {
					if strings.EqualFold(name, step) {
						next = append(next, argument{inner, a.exact && name == step})
					}
				}
			case []any:
				if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(value) && strconv.Itoa(i) == step {
					next = append(next, argument{value[i], a.exact})
				}
			}
		}
		at = next
	}
	return at
}

// scalar is the text of a plain value. null is no value: the server may have a default.
func scalar(value any) (text string, plain bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case json.Number:
		return value.String(), true
	case bool:
		return strconv.FormatBool(value), true
	default:
		return "", false
	}
}

// surelyIn reports whether a text matches a pattern however a server reads the text: one with a way up, in any spelling, may lead out of
// a folder that it begins with.
func surelyIn(pattern, text string) bool {
	if inGlob(pattern, text) != certain {
		return false
	}
	return !strings.ContainsAny(pattern, `*?[\`) || !climbs(text)
}

// climbs reports whether a text may name something above the folder that it begins with.
func climbs(text string) bool {
	for range 3 { // an address may be escaped more than once
		if strings.ContainsFunc(text, unicode.IsControl) {
			return true
		}
		names := strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' })
		if slices.Contains(names, "..") {
			return true
		}
		plain, err := url.PathUnescape(text)
		if err != nil || plain == text {
			return false
		}
		text = plain
	}
	return true
}

// maybeIn compares a text with the pattern of a rule that restricts. A pattern of a path is also about the folders above it, and may be about a name
// whose place only the server knows.
func maybeIn(pattern, text string) fit {
	found := inGlob(pattern, text)
	if found == certain {
		return certain
	}
	if strings.HasPrefix(pattern, "/") {
		clean := filepath.Clean(text)
		switch {
		case !filepath.IsAbs(text) || climbsEscaped(text):
			return max(found, perhaps)
		case inGlob(pattern, clean) != apart:
			return inGlob(pattern, clean)
		case aboveGlob(pattern, clean):
			return perhaps
		}
	}
	if folded := strings.ToLower(strings.TrimSpace(text)); inGlob(strings.ToLower(pattern), folded) != apart {
		return perhaps
	}
	return found
}

// climbsEscaped reports whether a path has escapes, which only some servers resolve.
func climbsEscaped(path string) bool {
	plain, err := url.PathUnescape(path)
	return err == nil && plain != path
}

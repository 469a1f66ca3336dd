// Package definition compares two definitions of a tool of an MCP server for a person. Both come from the server: whatever is in them, the comparison
// is short, and shows each character for what it is.
package definition

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// Limits of a comparison. An approval and its event hold all of it.
const (
	maxChanges = 30
	maxText    = 800 // bytes of one side of a change
	context    = 100 // bytes before the first difference of two long texts
	maxDepth   = 64
)

// Changes lists the differences from one definition to another, by field, in the order of the fields. short: some are left out or cut. A
// definition that cannot be read has no differences that could be shown.
func Changes(before, after json.RawMessage) (changes []domain.MCPChange, short bool) {
	was, wasKnown := decode(before)
	is, isKnown := decode(after)
	if !wasKnown || !isKnown {
		return nil, true
	}
	c := &comparison{}
	c.compare(nil, was, is)
	return c.changes, c.short
}

// Fields are the fields of a definition that changes are in, each once.
func Fields(changes []domain.MCPChange) []string {
	var fields []string
	for _, change := range changes {
		name, _, _ := strings.Cut(strings.TrimPrefix(change.Field, "/"), "/")
		if !slices.Contains(fields, name) {
			fields = append(fields, name)
		}
	}
	return fields
}

// Annotations are what a definition says of the effects of its tool; the zero value where it cannot be read.
func Annotations(definition json.RawMessage) domain.MCPAnnotations {
	var tool struct {
		Annotations domain.MCPAnnotations `json:"annotations"`
	}
	if json.Unmarshal(definition, &tool) != nil {
		return domain.MCPAnnotations{}
	}
	return tool.Annotations
}

func decode(definition json.RawMessage) (value any, known bool) {
	decoder := json.NewDecoder(bytes.NewReader(definition))
	decoder.UseNumber() // a float64 would take two large numbers for the same
	return value, decoder.Decode(&value) == nil
}

type comparison struct {
	changes []domain.MCPChange
	short   bool
}

// compare compares what stands at the same place. nil as a value is null, and a missing value is [missing].
func (c *comparison) compare(at []string, was, is any) {
	if c.short && len(c.changes) >= maxChanges {
		return
	}
	wasObject, wasIs := was.(map[string]any)
	isObject, isIs := is.(map[string]any)
	if wasIs && isIs && len(at) < maxDepth {
		keys := slices.Collect(maps.Keys(wasObject))
		for key := range isObject {
			if _, both := wasObject[key]; !both {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		for _, key := range keys {
			c.compare(append(at, key), member(wasObject, key), member(isObject, key))
		}
		return
	}
	wasList, wasIs := was.([]any)
	isList, isIs := is.([]any)
	if wasIs && isIs && len(at) < maxDepth && nested(wasList) && nested(isList) {
		for i := range max(len(wasList), len(isList)) {
			c.compare(append(at, strconv.Itoa(i)), element(wasList, i), element(isList, i))
		}
		return
	}
	before, after := shown(was), shown(is)
	if before == nil && after == nil || before != nil && after != nil && *before == *after {
		return
	}
	c.add(at, before, after)
}

// missing stands for a value that one of the two definitions does not have.
type missing struct{}

func member(object map[string]any, key string) any {
	if value, there := object[key]; there {
		return value
	}
	return missing{}
}

func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return missing{}
}

// nested reports whether a list holds more than plain values. A list of names is easier to read as a whole.
func nested(list []any) bool {
	return slices.ContainsFunc(list, func(value any) bool {
		switch value.(type) {
		case map[string]any, []any:
			return true
		default:
			return false
		}
	})
}

// shown is a value as a person reads it: a text without quotes, everything else as JSON.
func shown(value any) *string {
	switch value := value.(type) {
	case missing:
		return nil
	case string:
		return new(value)
	default:
		return new(string(domain.Encode(value)))
	}
}

func (c *comparison) add(at []string, before, after *string) {
	if len(c.changes) >= maxChanges {
		c.short = true
		return
	}
	skip := 0
	if before != nil && after != nil {
		skip = skipped(*before, *after)
	}
	field := domain.Pointer(at...)
	if len(field) > maxText { // no schema that somebody wrote has such a name
		field, c.short = field[:runeStart(field, maxText)]+"…", true
	}
	c.changes = append(c.changes, domain.MCPChange{Field: domain.ShowUnseen(field), Before: c.cut(before, skip), After: c.cut(after, skip)})
}

// skipped is how many bytes of two texts are alike before the part that is shown.
func skipped(before, after string) int {
	alike := 0
	for alike < min(len(before), len(after)) && before[alike] == after[alike] {
		alike++
	}
	if max(len(before), len(after)) <= maxText || alike <= context {
		return 0
	}
	return runeStart(before, alike-context)
}

func (c *comparison) cut(text *string, skip int) *string {
	if text == nil {
		return nil
	}
	part := (*text)[skip:]
	if skip > 0 {
		part, c.short = "…"+part, true
	}
	if len(part) > maxText {
		part, c.short = part[:runeStart(part, maxText)]+"…", true
	}
	return new(domain.ShowUnseen(part))
}

// runeStart is the start of the character at a place.
func runeStart(text string, at int) int {
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

package admission

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"signoff/internal/domain"
)

const (
	maxKeptVariables = 100
	maxVariableName  = 200 // bytes
	maxShownValue    = 200 // characters of a value in a list of completions
)

// keptVariables is the part of the variables that the completion of templates shows later: their names and types, and the beginnings of their values.
// Secrets are masked before a value is cut, since the masker does not recognise half of one. No value is kept of a variable whose name says that it is a
// secret: nobody has told the masker of a password that a person types into an editor.
func (a *Admission) keptVariables(variables json.RawMessage) domain.TemplateVariables {
	if variables == nil {
		return nil
	}
	var masked map[string]json.RawMessage
	if err := json.Unmarshal(a.config.Masker.JSON(variables), &masked); err != nil { // unreachable: the body was read before
		return nil
	}
	kept := domain.TemplateVariables{}
	for _, name := range slices.Sorted(maps.Keys(masked)) {
		if len(kept) < maxKeptVariables && len(name) <= maxVariableName {
			value := shorten(a.config.Masker.MaskString(plain(masked[name]))) // digits can be a secret, too
			if secretName.MatchString(name) {
				value = domain.Masked
			}
			kept[name] = domain.TemplateVariable{Type: JSONType(masked[name]), Value: value}
		}
	}
	return kept
}

// secretName matches the names that variables with a secret usually have.
var secretName = regexp.MustCompile(`(?i:passw|passphrase|pwd|secret|token|credential|api_?key|private_?key|access_?key|(?:^|[_.-])(?:key|pass)(?:$|[_.-]))|[a-z](?:Key|Pass)(?:$|[A-Z_])`)

// ShortValue is a value as a list of completions shows it: a text as it is, all others as JSON.
func ShortValue(value json.RawMessage) string { return shorten(plain(value)) }

func plain(value json.RawMessage) string {
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func shorten(text string) string {
	if utf8.RuneCountInString(text) <= maxShownValue {
		return text
	}
	return string([]rune(text)[:maxShownValue]) + "…"
}

// JSONType names the type of a JSON value.
func JSONType(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

package approvals

import (
	"encoding/json"
	"slices"
	"strings"

	"signoff/internal/domain"
)

// Options reads the options of an external agent. It skips invalid entries: the others stay usable.
func Options(verbatim json.RawMessage) []domain.PermissionOption {
	var entries []json.RawMessage
	if json.Unmarshal(verbatim, &entries) != nil {
		return nil
	}
	var options []domain.PermissionOption
	for _, entry := range entries {
		var option domain.PermissionOption
		if json.Unmarshal(entry, &option) == nil && option.OptionID != "" {
			options = append(options, option)
		}
	}
	return options
}

// RefusingOption says no to an agent: the option that says no to this one call, else the one that
// says no for ever, else none. Agents misread a bare "cancelled" as the end of the turn.
func RefusingOption(options []domain.PermissionOption) string {
	for _, kind := range []string{domain.OptionRejectOnce, domain.OptionRejectAlways} {
		if ids := ofKind(options, kind); len(ids) > 0 {
			return ids[0]
		}
	}
	return ""
}

// AllowingOption is the one option that says yes to this one call. Where an agent offers none, or several, a machine
// cannot tell what each of them means, and a person has to choose.
func AllowingOption(options []domain.PermissionOption) (id string, clear bool) {
	ids := ofKind(options, domain.OptionAllowOnce)
	if len(ids) != 1 {
		return "", false
	}
	return ids[0], true
}

func ofKind(options []domain.PermissionOption, kind string) (ids []string) {
	for _, option := range options {
		if option.Kind == kind {
			ids = append(ids, option.OptionID)
		}
	}
	return ids
}

// choose finds the option that carries an answer to the agent. What the decider names must agree with the decision; a
// kind that nobody knows agrees with both, since the id decides and the kind is a hint.
func choose(options []domain.PermissionOption, answer Answer) (string, error) {
	if answer.OptionID != "" {
		return named(options, answer)
	}
	if answer.Verb == domain.DenyCall {
		return RefusingOption(options), nil
	}
	id, clear := AllowingOption(options)
	if !clear {
		return "", domain.Invalid("/optionId", "The agent does not offer exactly one option that allows this once. Name one of: %s.", listed(options))
	}
	return id, nil
}

func named(options []domain.PermissionOption, answer Answer) (string, error) {
	at := slices.IndexFunc(options, func(o domain.PermissionOption) bool { return o.OptionID == answer.OptionID })
	if at < 0 {
		return "", domain.Invalid("/optionId", "The agent does not offer this option. It offers: %s.", listed(options))
	}
	against := "reject_"
	if answer.Verb == domain.DenyCall {
		against = "allow_"
	}
	if strings.HasPrefix(options[at].Kind, against) {
		return "", domain.Invalid("/optionId", "The option %s is of kind %s, which does not agree with the decision.", answer.OptionID, options[at].Kind)
	}
	return answer.OptionID, nil
}

func listed(options []domain.PermissionOption) string {
	if len(options) == 0 {
		return "none"
	}
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.OptionID + " (" + o.Kind + ")"
	}
	return strings.Join(names, ", ")
}

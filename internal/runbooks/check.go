package runbooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"signoff/internal/domain"
)

const (
	maxBlocks  = 100
	maxDetails = 20
	shownNames = 40 // types in one sentence
)

// CheckBlocks returns the mistakes in blocks that a model wrote; the pointers begin at the list. There are none for blocks that
// can be used.
func (t *Types) CheckBlocks(blocks json.RawMessage) []domain.Detail {
	var list []json.RawMessage
	if err := json.Unmarshal(blocks, &list); err != nil || list == nil {
		return []domain.Detail{{Message: noList(blocks)}}
	}
	switch {
	case len(list) == 0:
		return []domain.Detail{{Message: "the list is empty; hand in at least one block"}}
	case len(list) > maxBlocks:
		return []domain.Detail{{Message: fmt.Sprintf("the list has %d blocks; at most %d are allowed", len(list), maxBlocks)}}
	}
	var details []domain.Detail
	for i, block := range list {
		details = append(details, t.checkBlock(fmt.Sprintf("/%d", i), block)...)
	}
	if more := len(details) - maxDetails; more > 0 {
		details = append(details[:maxDetails], domain.Detail{Message: fmt.Sprintf("%d more places are wrong", more)})
	}
	return details
}

// noList names the value that is no list. Most often it is the list as text: some models encode JSON twice.
func noList(blocks json.RawMessage) string {
	switch kindOf(blocks) {
	case "":
		return "the list of blocks is missing"
	case "a string":
		return "this is a string; give the list of blocks itself, not its JSON as text"
	case "an object":
		return "this is an object; give a list of blocks, also where there is only one"
	default:
		return fmt.Sprintf("this is %s; give a list of blocks", kindOf(blocks))
	}
}

// checkBlock looks at one block. Further fields are the client's business; but what its type has among the props is lost beside
// them, and the model would believe it kept.
func (t *Types) checkBlock(at string, block json.RawMessage) []domain.Detail {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(block, &fields); err != nil || fields == nil {
		return []domain.Detail{{Pointer: at, Message: fmt.Sprintf(`this is %s; a block is an object such as {"type": %q, "props": {}}`, kindOf(block), t.sample())}}
	}
	details := checkID(at, fields)
	details = append(details, t.checkType(at, fields["type"])...)
	details = append(details, t.checkPlaces(at, fields)...)
	return append(details, t.checkProps(at, fields)...)
}

// checkPlaces finds props that stand beside props.
func (t *Types) checkPlaces(at string, fields map[string]json.RawMessage) (details []domain.Detail) {
	name, _ := textOf(fields["type"])
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if t.props[name][field] && field != "type" && field != "props" && field != "id" {
			details = append(details, domain.Detail{Pointer: at, Message: fmt.Sprintf("%s stands beside props; it belongs into them", quoted(field))})
		}
	}
	return details
}

func checkID(at string, fields map[string]json.RawMessage) []domain.Detail {
	id, given := fields["id"]
	if text, is := textOf(id); !given || is && text != "" {
		return nil
	}
	return []domain.Detail{{Pointer: at + "/id", Message: "the id must be a string that is not empty; leave it out for a new block"}}
}

func (t *Types) checkType(at string, raw json.RawMessage) []domain.Detail {
	name, isText := textOf(raw)
	_, known := t.Lookup(name)
	var message string
	switch {
	case raw == nil:
		message = "the type is missing"
	case !isText:
		message = fmt.Sprintf("the type is %s; it must be a string", kindOf(raw))
	case name == "":
		message = "the type is empty"
	case known || len(t.list) == 0:
		return nil
	default:
		message = fmt.Sprintf("there is no block type %s", quoted(name))
	}
	return []domain.Detail{{Pointer: at + "/type", Message: message + t.choice()}}
}

// choice names the types that there are.
func (t *Types) choice() string {
	names := t.Names()
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > shownNames {
		more = fmt.Sprintf(" and %d more", len(names)-shownNames)
		names = names[:shownNames]
	}
	return "; the types are: " + strings.Join(names, ", ") + more
}

func (t *Types) sample() string {
	if len(t.list) == 0 {
		return "…"
	}
	return t.list[0].Type
}

func (t *Types) checkProps(at string, fields map[string]json.RawMessage) []domain.Detail {
	props := fields["props"]
	switch kind := kindOf(props); kind {
	case "":
		return []domain.Detail{{Pointer: at + "/props", Message: "props is missing; give an object, {} where there is nothing to say"}}
	case "a string":
		return []domain.Detail{{Pointer: at + "/props", Message: "props is a string; give the object itself, not its JSON as text"}}
	case "an object":
	default:
		return []domain.Detail{{Pointer: at + "/props", Message: fmt.Sprintf("props is %s; it must be an object", kind)}}
	}
	name, _ := textOf(fields["type"])
	wanted, described := t.schemas[name]
	if !described {
		return nil
	}
	details := wanted.Check(props)
	for i := range details {
		details[i].Pointer = at + "/props" + details[i].Pointer
	}
	return details
}

func textOf(raw json.RawMessage) (text string, is bool) {
	return text, kindOf(raw) == "a string" && json.Unmarshal(raw, &text) == nil
}

// quoted is a name that a model made up, short and on one line.
func quoted(name string) string {
	if len(name) > maxTypeBytes {
		name = strings.ToValidUTF8(name[:maxTypeBytes], "") + "…"
	}
	return fmt.Sprintf("%q", name)
}

// kindOf names the kind of a JSON value; empty for none.
func kindOf(raw json.RawMessage) string {
	trimmed := strings.TrimSpace(string(raw))
	if trimmed == "" {
		return ""
	}
	switch trimmed[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

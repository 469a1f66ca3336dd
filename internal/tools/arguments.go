package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"signoff/internal/domain"
)

// fields are the members of one arguments object, by exact name. The first mistake stays: who has read all fields looks at it once.
//
// encoding/json would let {"command": "ls", "COMMAND": "rm"} decide for the second: it folds case and takes the last
// one. A person who reads the first would have approved something else, so a tool's arguments are read by this.
type fields struct {
	members map[string]json.RawMessage
	mistake error
}

// readFields reads the members of arguments; known are the names that the tool understands, form tells them to the
// model. Another name is an error: a person would sign for a restriction ("dryRun": true) that nobody keeps.
func readFields(arguments json.RawMessage, form string, known ...string) *fields {
	f := &fields{members: map[string]json.RawMessage{}}
	f.mistake = f.read(arguments, form, known)
	return f
}

func (f *fields) read(arguments json.RawMessage, form string, known []string) error {
	if !utf8.Valid(arguments) {
		return invalid("The arguments are not valid UTF-8.")
	}
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return invalid("The arguments must be one JSON object with %s.", form)
	}
	for decoder.More() {
		name, err := f.readMember(decoder)
		if err != nil {
			return err
		}
		if !slices.Contains(known, name) { // at once: a model may write 50,000 names, and each is compared with all before it
			return invalid("There is no field %q; this tool takes %s.", name, form)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return broken(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return invalid("Something follows the JSON object of the arguments; send one object only.")
	}
	return nil
}

// readMember reads the next member, and returns its name.
func (f *fields) readMember(decoder *json.Decoder) (name string, err error) {
	token, err := decoder.Token()
	if err != nil {
		return "", broken(err)
	}
	name, isName := token.(string)
	if !isName {
		return "", invalid("The arguments are not valid JSON.")
	}
	for other := range f.members {
		if strings.EqualFold(other, name) {
			return "", invalid("The field %q is there twice.", name)
		}
	}
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return "", broken(err)
	}
	f.members[name] = value
	return name, nil
}

// wrong notes a mistake, unless there was one before it.
func (f *fields) wrong(format string, args ...any) {
	if f.mistake == nil {
		f.mistake = invalid(format, args...)
	}
}

// given returns a member that is neither absent nor null.
func (f *fields) given(name string) (raw json.RawMessage, given bool) {
	raw = f.members[name]
	return raw, raw != nil && string(raw) != "null"
}

// text reads a string that must be there and not be blank.
func (f *fields) text(name string, limit int) string {
	raw, _ := f.given(name)
	return f.textOf(name, raw, limit)
}

func (f *fields) textOf(name string, raw json.RawMessage, limit int) (value string) {
	err := json.Unmarshal(raw, &value)
	switch {
	case raw == nil || string(raw) == "null":
		f.wrong("The field %q is missing; it must be a string.", name)
	case err != nil:
		f.wrong("The field %q must be a string.", name)
	case strings.TrimSpace(value) == "":
		f.wrong("The field %q is empty.", name)
	case strings.ContainsRune(value, 0):
		f.wrong("The field %q contains a NUL character.", name)
	case len(value) > limit:
		f.wrong("The field %q has %d bytes; at most %d are allowed.", name, len(value), limit)
	}
	return value
}

// optionalText reads a string that may be absent, null or empty.
func (f *fields) optionalText(name string, limit int) string {
	raw, given := f.given(name)
	if !given || string(raw) == `""` {
		return ""
	}
	return f.textOf(name, raw, limit)
}

// choice reads one of a few words; the first stands where the field is absent or null.
func (f *fields) choice(name string, words ...string) string {
	raw, given := f.given(name)
	if !given {
		return words[0]
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil || !slices.Contains(words, value) {
		f.wrong("The field %q must be one of: %s.", name, strings.Join(words, ", "))
	}
	return value
}

// flag reads a boolean, which is false where the field is absent or null.
func (f *fields) flag(name string) (value bool) {
	if raw, given := f.given(name); given && json.Unmarshal(raw, &value) != nil {
		f.wrong("The field %q must be true or false.", name)
	}
	return value
}

// list reads strings, none of them blank or there twice; there are none where the field is absent or null.
func (f *fields) list(name string, most, limit int) (values []string) {
	raw, given := f.given(name)
	if !given {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		f.wrong("The field %q must be a list of strings.", name)
	}
	if len(items) > most {
		f.wrong("The field %q has %d entries; at most %d are allowed.", name, len(items), most)
	}
	for i, item := range items[:min(len(items), most)] {
		value := f.textOf(fmt.Sprintf("%s[%d]", name, i), item, limit)
		if slices.Contains(values, value) {
			f.wrong("The field %q has an entry twice.", name)
		}
		values = append(values, value)
	}
	return values
}

// number reads a whole number between low and high; fallback stands where the field is absent or null.
func (f *fields) number(name string, fallback, low, high int) int {
	raw, given := f.given(name)
	if !given {
		return fallback
	}
	var value float64 // some models write 30.0
	if err := json.Unmarshal(raw, &value); err != nil || value != float64(int(value)) {
		f.wrong("The field %q must be a whole number from %d to %d.", name, low, high)
	}
	if int(value) < low || int(value) > high {
		f.wrong("The field %q must be from %d to %d.", name, low, high)
	}
	return int(value)
}

func broken(cause error) error {
	return domain.Errorf(domain.CodeInvalidArguments, "The arguments are not valid JSON.").With(cause)
}

func invalid(format string, args ...any) error {
	return domain.Errorf(domain.CodeInvalidArguments, format, args...)
}

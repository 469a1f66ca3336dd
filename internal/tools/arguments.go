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

// fields are the members of one arguments object, by exact name.
//
// encoding/json would let {"command": "ls", "COMMAND": "rm"} decide for the second: it folds case and takes the last
// one. A person who reads the first would have approved something else, so a tool's arguments are read by this.
type fields map[string]json.RawMessage

// readFields reads the members of arguments; known are the names that the tool understands, form tells them to the
// model. Another name is an error:
// a person would sign for a restriction ("dryRun": true) that nobody keeps.
func readFields(arguments json.RawMessage, form string, known ...string) (fields, error) {
	if !utf8.Valid(arguments) {
		return nil, invalid("The arguments are not valid UTF-8.")
	}
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, invalid("The arguments must be one JSON object with %s.", form)
	}
	members := fields{}
	for decoder.More() {
		name, err := members.read(decoder)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, name) { // at once: a model may write 50,000 names, and each is compared with all before it
			return nil, invalid("There is no field %q; this tool takes %s.", name, form)
		}
	}
	if _, err := decoder.Token(); err != nil {
		return nil, broken(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, invalid("Something follows the JSON object of the arguments; send one object only.")
	}
	return members, nil
}

// read reads the next member, and returns its name.
func (f fields) read(decoder *json.Decoder) (name string, err error) {
	token, err := decoder.Token()
	if err != nil {
		return "", broken(err)
	}
	name, isName := token.(string)
	if !isName {
		return "", invalid("The arguments are not valid JSON.")
	}
	for other := range f {
		if strings.EqualFold(other, name) {
			return "", invalid("The field %q is there twice.", name)
		}
	}
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return "", broken(err)
	}
	f[name] = value
	return name, nil
}

// text reads a string that must be there and not be blank.
func (f fields) text(name string, limit int) (string, error) {
	raw, given := f[name]
	if !given || string(raw) == "null" {
		return "", invalid("The field %q is missing; it must be a string.", name)
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", invalid("The field %q must be a string.", name)
	}
	switch {
	case strings.TrimSpace(value) == "":
		return "", invalid("The field %q is empty.", name)
	case strings.ContainsRune(value, 0):
		return "", invalid("The field %q contains a NUL character.", name)
	case len(value) > limit:
		return "", invalid("The field %q has %d bytes; at most %d are allowed.", name, len(value), limit)
	}
	return value, nil
}

// optionalText reads a string that may be absent, null or empty.
func (f fields) optionalText(name string, limit int) (string, error) {
	raw, given := f[name]
	if !given || string(raw) == "null" || string(raw) == `""` {
		return "", nil
	}
	return f.text(name, limit)
}

// choice reads one of a few words; the first stands where the field is absent or null.
func (f fields) choice(name string, words ...string) (string, error) {
	raw, given := f[name]
	if !given || string(raw) == "null" {
		return words[0], nil
	}
	var value string
	if err := json.Unmarshal(raw, &value); err != nil || !slices.Contains(words, value) {
		return "", invalid("The field %q must be one of: %s.", name, strings.Join(words, ", "))
	}
	return value, nil
}

// flag reads a boolean, which is false where the field is absent or null.
func (f fields) flag(name string) (bool, error) {
	raw, given := f[name]
	if !given {
		return false, nil
	}
	var value bool
	if err := json.Unmarshal(raw, &value); err != nil {
		return false, invalid("The field %q must be true or false.", name)
	}
	return value, nil
}

// list reads strings, none of them blank or there twice; there are none where the field is absent or null.
func (f fields) list(name string, most, limit int) ([]string, error) {
	raw, given := f[name]
	if !given {
		return nil, nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, invalid("The field %q must be a list of strings.", name)
	}
	if len(items) > most {
		return nil, invalid("The field %q has %d entries; at most %d are allowed.", name, len(items), most)
	}
	var values []string
	for i, item := range items {
		entry := fmt.Sprintf("%s[%d]", name, i)
		value, err := fields{entry: item}.text(entry, limit)
		if err != nil {
			return nil, err
		}
		if slices.Contains(values, value) {
			return nil, invalid("The field %q has an entry twice.", name)
		}
		values = append(values, value)
	}
	return values, nil
}

// number reads a whole number between low and high; fallback stands where the field is absent or null.
func (f fields) number(name string, fallback, low, high int) (int, error) {
	raw, given := f[name]
	if !given || string(raw) == "null" {
		return fallback, nil
	}
	var value float64 // some models write 30.0
	if err := json.Unmarshal(raw, &value); err != nil || value != float64(int(value)) {
		return 0, invalid("The field %q must be a whole number from %d to %d.", name, low, high)
	}
	if int(value) < low || int(value) > high {
		return 0, invalid("The field %q must be from %d to %d.", name, low, high)
	}
	return int(value), nil
}

func broken(cause error) error {
	return domain.Errorf(domain.CodeInvalidArguments, "The arguments are not valid JSON.").With(cause)
}

func invalid(format string, args ...any) error {
	return domain.Errorf(domain.CodeInvalidArguments, format, args...)
}

package wire

import (
	"encoding/json"
	"math"
	"strings"
)

// Object is a JSON object that is read leniently, member by member. Agents are ahead of the specification, behind it,
// and beside it: one member of an unexpected type must cost that member, and not the message that it stands in.
//
// Reading from an object that is not there finds nothing.
type Object map[string]json.RawMessage

// ReadObject returns nil for anything but an object.
func ReadObject(raw json.RawMessage) Object {
	var o Object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// Has tells whether the member is there, and says neither null nor false.
func (o Object) Has(name string) bool {
	value, there := o[name]
	return there && string(value) != "null" && string(value) != "false"
}

// Text is empty for anything but a string.
func (o Object) Text(name string) (text string) {
	_ = json.Unmarshal(o[name], &text)
	return text
}

// Object is nil for anything but an object.
func (o Object) Object(name string) Object { return ReadObject(o[name]) }

// List is empty for anything but a list.
func (o Object) List(name string) (list []json.RawMessage) {
	_ = json.Unmarshal(o[name], &list)
	return list
}

// Objects lists the objects in a list, and passes over what is none.
func (o Object) Objects(name string) (list []Object) {
	for _, item := range o.List(name) {
		if entry := ReadObject(item); entry != nil {
			list = append(list, entry)
		}
	}
	return list
}

// Number is nil for anything but a number.
func (o Object) Number(name string) *float64 {
	var number *float64
	if json.Unmarshal(o[name], &number) != nil {
		return nil
	}
	return number
}

// Count is a number that counts something: whole, and not below zero.
func (o Object) Count(name string) *int64 {
	number := o.Number(name)
	if number == nil || *number < 0 || *number > 1<<53 || *number != math.Trunc(*number) {
		return nil
	}
	count := int64(*number)
	return &count
}

// Only tells whether o has no other members than these.
func (o Object) Only(names ...string) bool {
	known := 0
	for _, name := range names {
		if _, there := o[name]; there {
			known++
		}
	}
	return known == len(o)
}

// Beginning is at most limit bytes of text, ends between two characters, and says when it is not all.
func Beginning(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// Ending is the same from the other end.
func Ending(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-limit:], "")
}

package store

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"signoff/internal/domain"
)

// Rows keep the names of older releases: one of them may read the same database during a rolling upgrade, and the rows that it wrote stay. This file
// translates renamed members when a row is written and when it is read, so that no other package sees an old name. The store writes the old name
// until the schema's floor is a release that knows the new one.

// The one member that was renamed.
const (
	inRows    = "fate"
	elsewhere = "outcome"
)

// The one reason of a change of status that was renamed, with its member.
var (
	reasonInRows    = []byte(`"reason":"takenUp"`)
	reasonElsewhere = []byte(`"reason":"continued"`)
)

// eventToRow returns the data of an event as its row has it.
func eventToRow(t domain.EventType, data []byte) []byte {
	if t == domain.StateChangedType {
		return bytes.Replace(data, reasonElsewhere, reasonInRows, 1)
	}
	return renameIn(t, data, elsewhere, inRows)
}

// eventFromRow returns the data of an event as its payload has it.
func eventFromRow(t domain.EventType, data []byte) []byte {
	if t == domain.StateChangedType {
		return bytes.Replace(data, reasonInRows, reasonElsewhere, 1)
	}
	return renameIn(t, data, inRows, elsewhere)
}

// outputToRow and outputFromRow are the same for the output of an execution.
func outputToRow(output string) string {
	return string(rename([]byte(output), elsewhere, inRows, "/toolCallsExecuted/"))
}

func outputFromRow(output string) string {
	return string(rename([]byte(output), inRows, elsewhere, "/toolCallsExecuted/"))
}

func renameIn(t domain.EventType, data []byte, from, to string) []byte {
	switch {
	case t == domain.ToolCallCompletedType:
		return rename(data, from, to, "")
	case t.Terminal():
		return rename(data, from, to, "/output/toolCallsExecuted/")
	}
	return data
}

// rename gives the members called from of the objects at a place another name. The place is the empty string for the document itself, or
// ends in a slash for the elements of a list. All other bytes stay as they are. Data that is no JSON is returned as it is: who decodes it
// says so.
func rename(data []byte, from, to, place string) []byte {
	if !bytes.Contains(data, []byte(`"`+from+`"`)) {
		return data
	}
	renamed := make([]byte, 0, len(data)+len(to))
	copied := 0
	for d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); ; {
		token, err := d.ReadToken()
		if err != nil {
			return append(renamed, data[copied:]...)
		}
		kind, length := d.StackIndex(d.StackDepth())
		isName := kind == '{' && length%2 == 1 && token.Kind() == '"'
		if !isName || token.String() != from || !isAt(d.StackPointer(), place) {
			continue
		}
		end := int(d.InputOffset())
		begin := bytes.LastIndex(data[:end-1], []byte(`"`))
		renamed = append(append(append(renamed, data[copied:begin+1]...), to...), '"')
		copied = end
	}
}

// isAt reports whether a member belongs to the objects at a place.
func isAt(member jsontext.Pointer, place string) bool {
	object := string(member.Parent())
	if place == "" {
		return object == ""
	}
	element, found := strings.CutPrefix(object, place)
	return found && !strings.Contains(element, "/")
}

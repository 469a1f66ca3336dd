package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A person may approve a call with other arguments than its model wrote. The model's own call stays in the conversation as the model made it: some
// vendors refuse a changed one, and every model would believe that it wrote those arguments itself. The result says which arguments ran instead.

const (
	editMark     = " changed the arguments of this call. What ran instead: "
	editEnd      = "]\n"
	editedBytes  = 16 << 10 // of the arguments, which a file tool may have the whole file in
	editNoteSize = editedBytes + 1000
)

// EditNote stands at the beginning of the result of a call that ran with other arguments, for its model: what ran, and who wrote it. It is empty
// where nobody changed the arguments.
func EditNote(by *Actor, ran json.RawMessage) string {
	if by == nil {
		return ""
	}
	var line bytes.Buffer
	if json.Compact(&line, ran) != nil {
		return ""
	}
	shown := line.String()
	if len(shown) > editedBytes {
		shown = fmt.Sprintf("%s… (the first %d of %d bytes)", strings.ToValidUTF8(shown[:editedBytes], ""), editedBytes, len(shown))
	}
	return "[" + editor(*by) + editMark + shown + editEnd
}

// editor is how the model knows a person: the name of their key, in one line.
func editor(by Actor) string {
	const most = 100
	name := []rune(strings.Join(strings.Fields(by.Name), " "))
	if len(name) == 0 {
		return "A person"
	}
	return string(name[:min(len(name), most)])
}

// CutEditNote splits a result into its [EditNote] and the rest. A result may only look as if it began with one.
func CutEditNote(result string) (note, rest string) {
	line, rest, found := strings.Cut(result, editEnd)
	if !found || len(line) > editNoteSize || !strings.HasPrefix(line, "[") || !strings.Contains(line, editMark) || strings.Contains(line, "\n") {
		return "", result
	}
	return line + editEnd, rest
}

package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"signoff/internal/acp/wire"
)

// What an agent's report of a call says, in the few words that the log needs beside the report itself.

// toolName is a short name that stays the same from call to call, so that rules can be made of it. The title is none:
// it is the command, the path, or a sentence.
func toolName(update wire.Object) string {
	return wire.Beginning(append(toolNames(update), cmp.Or(update.Text("kind"), "other"))[0], 100)
}

// toolNames are the names that the agent has for the tool, where it says one.
func toolNames(update wire.Object) []string {
	meta := update.Object("_meta")
	names := []string{meta.Text("toolName"), update.Text("name")}
	for _, member := range sortedNames(meta) { // a vendor's own corner, such as _meta.claudeCode.toolName
		names = append(names, meta.Object(member).Text("toolName"))
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// outputOf is the result as text: what the report shows to people, else what the tool itself gave.
func outputOf(update wire.Object) (text string, told bool) {
	if update.Has("content") {
		if text := contentText(update); text != "" {
			return text, true
		}
	}
	if !update.Has("rawOutput") {
		return "", update.Has("content")
	}
	return plainText(update["rawOutput"]), true
}

// contentText is the text in a list of content, with a mention of each picture. Diffs and terminals stand in the report alone.
func contentText(update wire.Object) string {
	var texts []string
	for _, entry := range update.Objects("content") {
		switch content := entry.Object("content"); {
		case content.Text("text") != "":
			texts = append(texts, content.Text("text"))
		case content.Text("type") == "image": // without a text here, the raw output would be shown, which may have the bytes
			texts = append(texts, mention(content.Text("leftOut")))
		}
	}
	return strings.Join(texts, "\n")
}

// mention stands for a picture in a text.
func mention(leftOut string) string {
	if leftOut == "" {
		return "[picture]"
	}
	return "[picture, left out: " + leftOut + "]"
}

// plainText is what a raw output says: a string, the member that usually holds it, or else all of it.
func plainText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	o := wire.ReadObject(raw)
	for _, name := range []string{"formatted_output", "output", "stdout", "text", "content", "result", "error", "message"} {
		if text := o.Text(name); text != "" {
			return text
		}
	}
	return string(raw)
}

// outputBytes bounds the output of a call in the log.
const outputBytes = 64 << 10

// shortened leaves out the middle of a text that is too long.
func shortened(text string) (short string, truncated bool) {
	if len(text) <= outputBytes {
		return text, false
	}
	half := (outputBytes - 100) / 2
	head, tail := half, len(text)-half
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out here …]\n%s", text[:head], tail-head, text[tail:]), true
}

func sortedNames(o wire.Object) []string { return slices.Sorted(maps.Keys(o)) }

package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
	"signoff/internal/schema"
)

const maxFiles = 20 // of one result

// wireResult is a result as it stands on the wire.
// https://modelcontextprotocol.io/specification/2026-07-28/schema#calltoolresult
type wireResult struct {
	Type       string                     `json:"resultType"`
	Content    []json.RawMessage          `json:"content"`
	Structured json.RawMessage            `json:"structuredContent"`
	Failed     bool                       `json:"isError"`
	Requests   map[string]json.RawMessage `json:"inputRequests"`
	State      string                     `json:"requestState"`
}

// wireContent is a part of a result.
type wireContent struct {
	Type        string    `json:"type"`
	Text        string    `json:"text"`
	MIMEType    string    `json:"mimeType"`
	Data        []byte    `json:"data"`
	URI         string    `json:"uri"`
	Name        string    `json:"name"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Resource    *contents `json:"resource"`
}

// contents are those of a resource.
type contents struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     []byte  `json:"blob"`
}

// answer reads the answer to a call.
func (s *Session) answer(raw json.RawMessage, tool Tool, revision string) (Answer, error) {
	var sent wireResult
	if err := json.Unmarshal(raw, &sent); err != nil {
		return Answer{}, domain.Errorf(domain.CodeToolFailed, "The MCP server %q has run the call, and its result cannot be read.", tool.Server).With(err)
	}
	switch sent.Type {
	case "", resultComplete:
		return Answer{Result: sent.result(tool)}, nil
	case resultInputRequired:
		form, again, err := questionOf(sent.Requests, sent.State, revision)
		return Answer{Form: form, Repeat: again}, err
	}
	return Answer{}, domain.Errorf(domain.CodeToolFailed, "The MCP server %q answered with a result of the type %s, which Signoff does not declare. The call may go on at the server.",
		tool.Server, wire.Quote(sent.Type))
}

// result turns the parts of a result into text, with the files beside it.
func (w wireResult) result(tool Tool) Result {
	reading := &reading{}
	for _, raw := range w.Content {
		var part wireContent
		if json.Unmarshal(raw, &part) != nil {
			reading.say("[a part of the result that cannot be read]")
			continue
		}
		reading.part(part)
	}
	result := Result{Failed: w.Failed, Files: reading.files}
	if len(w.Structured) > 0 && string(w.Structured) != "null" {
		result.Structured = w.Structured
		if len(reading.text) == 0 {
			reading.say(indented(w.Structured))
		}
	}
	if note := misfit(result, tool.OutputSchema); note != "" {
		reading.say(note)
	}
	result.Text = strings.Join(reading.text, "\n")
	return result
}

func indented(document json.RawMessage) string {
	var text bytes.Buffer
	if json.Indent(&text, document, "", "  ") != nil {
		return wire.Harmless(string(document))
	}
	return wire.Harmless(text.String())
}

// misfit says where the structured content does not fit the schema that the server has given for it. A failed call has none.
func misfit(result Result, output json.RawMessage) string {
	if output == nil || result.Failed {
		return ""
	}
	if result.Structured == nil {
		return "[The tool promises a structured result, and sent none.]"
	}
	wanted, err := schema.Compile(output)
	if err != nil {
		return "[The structured result was not checked, because the tool's output schema cannot be used.]"
	}
	details := wanted.Check(result.Structured)
	if len(details) == 0 {
		return ""
	}
	note := "[The structured result does not fit the tool's output schema:"
	for _, detail := range details {
		note += fmt.Sprintf(" at %q: %s;", wire.Harmless(detail.Pointer), wire.Harmless(detail.Message))
	}
	return strings.TrimSuffix(note, ";") + ".]"
}

// reading collects the text and the files of a result.
type reading struct {
	text  []string
	files []Blob
}

func (r *reading) say(text string) { r.text = append(r.text, text) }

func (r *reading) part(part wireContent) {
	switch part.Type {
	case "text":
		r.say(wire.Harmless(part.Text))
	case "image", "audio":
		r.file(part.Type, part.MIMEType, part.Data)
	case "resource":
		r.resource(part.Resource)
	case "resource_link":
		r.say(linkText(part))
	default:
		r.say(fmt.Sprintf("[a part of the unknown type %s]", wire.Quote(part.Type)))
	}
}

func (r *reading) file(kind, mediaType string, content []byte) {
	if len(r.files) == maxFiles {
		r.say(fmt.Sprintf("[%s: left out, because a result has at most %d files]", kind, maxFiles))
		return
	}
	mediaType = wire.Line(mediaType, maxNameBytes)
	name := fmt.Sprintf("%s-%d", kind, len(r.files)+1)
	r.files = append(r.files, Blob{Name: name, MediaType: mediaType, Content: content})
	r.say(fmt.Sprintf("[%s: %s, %d bytes]", name, mediaType, len(content)))
}

func (r *reading) resource(resource *contents) {
	if resource == nil {
		r.say("[a resource without contents]")
		return
	}
	r.say(fmt.Sprintf("[resource %s]", wire.Line(resource.URI, maxURLBytes)))
	if resource.Text != nil {
		r.say(wire.Harmless(*resource.Text))
		return
	}
	r.file("resource", resource.MIMEType, resource.Blob)
}

// linkText is a link to a resource in words. It is not followed: the model may ask for it.
func linkText(part wireContent) string {
	text := "[link to the resource " + wire.Line(part.URI, maxURLBytes)
	for _, more := range []string{part.Name, part.Title, part.Description} {
		if more = wire.Line(more, wire.MaxMessageBytes); more != "" {
			text += "; " + more
		}
	}
	return text + "]"
}

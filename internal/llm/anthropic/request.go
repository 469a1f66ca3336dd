package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// model is what a request says of the model that is asked.
type model struct {
	maker provider.Maker // of its states
	name  string         // the vendor's
	entry provider.Model
}

// encode translates a request. Two marks tell the vendor what to keep in its cache: all up to the system prompt, the
// tools included, which never changes, and all up to the newest message, which the next round begins with.
func (m model) encode(request provider.Request) ([]byte, error) {
	question := body{
		Model:        m.name,
		MaxTokens:    maxOutput(m.entry, request.Settings),
		Stream:       true,
		Messages:     m.conversation(request),
		Thinking:     m.thinkingMode(request),
		OutputConfig: m.outputConfig(request),
		ToolChoice:   choiceOf(request),
	}
	if !willThink(m.entry, request.Settings) { // it refuses one, and the entry may have it for requests without an effort
		question.Temperature = request.Settings.Temperature
	}
	for _, definition := range request.Tools {
		question.Tools = append(question.Tools, tool{definition.Name, definition.Description, definition.Schema})
	}
	if visible(request.System) {
		question.System = []block{{Type: "text", Text: request.System, CacheControl: ephemeral()}}
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // there is no page for which "<" would have to be escaped
	if err := encoder.Encode(question); err != nil {
		return nil, fmt.Errorf("anthropic: the request cannot be written: %w", err)
	}
	return m.entry.AddFields(encoded.Bytes()), nil
}

// outputConfig is nil where there is nothing to say.
func (m model) outputConfig(request provider.Request) *outputConfig {
	config := outputConfig{}
	if effort := request.Settings.Effort; effort != domain.EffortNone && decidesItself(m.name) {
		config.Effort = effort
	}
	if request.Schema != nil {
		config.Format = &format{Type: "json_schema", Schema: request.Schema}
	}
	if config == (outputConfig{}) {
		return nil
	}
	return &config
}

func choiceOf(request provider.Request) *toolChoice {
	parallel := request.Settings.ParallelToolCalls
	if parallel == nil || len(request.Tools) == 0 {
		return nil
	}
	return &toolChoice{Type: "auto", DisableParallel: !*parallel}
}

// conversation translates the messages. Users and assistants take turns, and the user begins: neighbours of one side
// become one message, which also brings all results of an answer into one, as the vendor wants them.
func (m model) conversation(request provider.Request) []message {
	var turns []message
	ids := provider.WireIDs(m.maker, request.Messages, provider.Word)
	for _, next := range request.Messages {
		role, blocks := m.translate(request, next, ids)
		switch last := len(turns) - 1; {
		case len(blocks) == 0: // an empty message is refused
		case last >= 0 && turns[last].Role == role:
			turns[last].Content = append(turns[last].Content, blocks...)
		case last < 0 && role == assistant:
			turns = []message{
				{Role: user, Content: textBlocks("(The conversation began before this.)")},
				{Role: assistant, Content: blocks},
			}
		default:
			turns = append(turns, message{Role: role, Content: blocks})
		}
	}
	markNewest(turns)
	return turns
}

// markNewest has the conversation kept in the vendor's cache. A thought cannot carry the mark, and never ends a conversation
// that is sent: an answer of nothing but thoughts is not remembered as one.
func markNewest(turns []message) {
	if len(turns) == 0 {
		return
	}
	blocks := turns[len(turns)-1].Content
	switch newest := &blocks[len(blocks)-1]; newest.Type {
	case "thinking", "redacted_thinking":
	default:
		newest.CacheControl = ephemeral()
	}
}

func (m model) translate(request provider.Request, message domain.Message, ids map[string]string) (role string, blocks []block) {
	switch message.Role {
	case domain.RoleAssistant:
		return assistant, m.said(message, ids)
	case domain.RoleTool:
		return user, []block{{Type: "tool_result", ToolUseID: ids[message.ToolCallID], Content: append(textBlocks(message.Text), partBlocks(request, message.Parts)...)}}
	default:
		if message.Parts != nil {
			return user, partBlocks(request, message.Parts)
		}
		return user, textBlocks(message.Text)
	}
}

// partBlocks are the parts of a prompt or the pictures of a result: https://platform.claude.com/docs/en/build-with-claude/vision and
// https://platform.claude.com/docs/en/build-with-claude/pdf-support
func partBlocks(request provider.Request, parts []domain.PromptPart) (blocks []block) {
	for _, part := range parts {
		if !part.IsFile() {
			blocks = append(blocks, textBlocks(part.Text)...)
			continue
		}
		file := block{Type: "image", Source: &source{Type: "base64", MediaType: part.MediaType, Data: request.Base64(part)}}
		if part.Type == domain.PartFile {
			file.Type, file.Title = "document", provider.FileName(part)
		}
		blocks = append(blocks, file)
	}
	return blocks
}

// textBlocks is a block, or none: the vendor refuses a conversation for one text that shows nothing.
func textBlocks(text string) []block {
	if !visible(text) {
		return nil
	}
	return []block{{Type: "text", Text: text}}
}

func visible(text string) bool { return strings.TrimSpace(text) != "" }

// said is an answer of the model, with its thoughts where they were.
func (m model) said(message domain.Message, ids map[string]string) []block {
	rest := saidRest{text: []rune(message.Text), calls: message.ToolCalls, ids: ids, state: m.maker.StateOf(message)}
	for _, thought := range m.thoughts(message) {
		rest.speak(thought.AfterText - rest.spoken) // where masking has changed the length of the text, a sentence is cut elsewhere
		rest.call(thought.AfterCalls - rest.asked)
		rest.blocks = append(rest.blocks, thought.param())
	}
	rest.speak(len(rest.text))
	rest.call(len(rest.calls))
	return rest.blocks
}

// saidRest is what of an answer is not among the blocks yet.
type saidRest struct {
	text          []rune
	calls         []domain.ToolCall
	ids           map[string]string // on the wire, by ours
	state         provider.State
	spoken, asked int // that are
	blocks        []block
}

func (r *saidRest) speak(characters int) {
	n := min(max(characters, 0), len(r.text))
	r.blocks = append(r.blocks, textBlocks(string(r.text[:n]))...)
	r.text, r.spoken = r.text[n:], r.spoken+n
}

func (r *saidRest) call(count int) {
	n := min(max(count, 0), len(r.calls))
	for _, call := range r.calls[:n] {
		r.blocks = append(r.blocks, block{
			Type: "tool_use", ID: r.ids[call.ID], Name: provider.Word(call.Tool), Input: r.state.Call(call.ID).Arguments(call.Arguments),
		})
	}
	r.calls, r.asked = r.calls[n:], r.asked+n
}

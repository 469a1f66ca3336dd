package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
	"signoff/internal/schema"
)

// Bounds of what a server asks.
const (
	maxStateBytes   = 64 << 10
	maxFormBytes    = 64 << 10
	maxFormRequests = 16
	maxURLBytes     = 2000
)

const (
	resultComplete      = "complete"
	resultInputRequired = "input_required"

	methodElicit = "elicitation/create"
	modeForm     = "form"
	modeURL      = "url"
)

// repeat is what a request is repeated with. It is kept for longer than a process lives: fields are added, and never change their meaning.
type repeat struct {
	Protocol string         `json:"protocol"`
	State    string         `json:"requestState,omitempty"`
	Requests []inputRequest `json:"requests"`
}

// inputRequest is one question of a server, by its key.
type inputRequest struct {
	Key  string `json:"key"`
	Mode string `json:"mode"`
}

// elicitation is a question, as it stands on the wire.
// https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
type elicitation struct {
	Mode            string          `json:"mode"`
	Message         string          `json:"message"`
	RequestedSchema json.RawMessage `json:"requestedSchema"`
	URL             string          `json:"url"`
}

// form is what a person is shown. With a URL, the yes means that the person will have opened it; nothing here does.
type form struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"`
	URL     string          `json:"url,omitempty"`
	Host    string          `json:"host,omitempty"`
}

// anyAnswer is the schema of a question that is answered by yes or no.
var anyAnswer = json.RawMessage(`{"type":"object","properties":{}}`)

// questionOf turns an input_required result into one form, and what the request is repeated with.
// https://modelcontextprotocol.io/specification/2026-07-28/basic/mrtr
func questionOf(requests map[string]json.RawMessage, state, revision string) (question, again json.RawMessage, err error) {
	if len(state) > maxStateBytes {
		return nil, nil, unusable("its state has %d bytes; at most %d are kept", len(state), maxStateBytes)
	}
	if len(requests) > maxFormRequests {
		return nil, nil, unusable("it asks %d questions at once; at most %d are answered", len(requests), maxFormRequests)
	}
	kept := repeat{Protocol: revision, State: state}
	forms := map[string]form{}
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		f, mode, err := formOf(requests[key])
		if err != nil {
			return nil, nil, err
		}
		forms[key] = f
		kept.Requests = append(kept.Requests, inputRequest{Key: key, Mode: mode})
	}
	asked, err := joined(kept.Requests, forms)
	if err != nil {
		return nil, nil, err
	}
	question, err = asked.encode()
	return question, domain.Encode(kept), err
}

func unusable(format string, args ...any) error {
	return domain.Errorf(domain.CodeToolFailed, "The MCP server asks something that cannot be answered here: %s.", fmt.Sprintf(format, args...))
}

func formOf(raw json.RawMessage) (f form, mode string, err error) {
	var request struct {
		Method string      `json:"method"`
		Params elicitation `json:"params"`
	}
	if err := json.Unmarshal(raw, &request); err != nil {
		return form{}, "", unusable("the question cannot be read")
	}
	if request.Method != methodElicit {
		return form{}, "", unusable("it sends the request %s, which Signoff does not declare", wire.Quote(request.Method))
	}
	return request.Params.form()
}

// form checks a question, and returns it as a person is shown it.
func (e elicitation) form() (f form, mode string, err error) {
	f = form{Message: wire.Harmless(e.Message), Schema: anyAnswer}
	switch {
	case e.Mode == modeURL || e.Mode == "" && e.URL != "":
		address, err := url.Parse(e.URL)
		if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" || address.User != nil || len(e.URL) > maxURLBytes || wire.Line(e.URL, maxURLBytes) != e.URL {
			return form{}, "", unusable("it wants a page opened whose address is no plain http or https address")
		}
		f.URL, f.Host = e.URL, domain.Reveal(address.Host)
		return f, modeURL, nil
	case e.Mode == modeForm || e.Mode == "":
		if len(e.RequestedSchema) > 0 && string(e.RequestedSchema) != "null" {
			f.Schema = e.RequestedSchema
		}
		if _, err := schema.Compile(f.Schema); err != nil {
			return form{}, "", unusable("the schema of the answer: %s", domain.FailureOf(err).Message)
		}
		return f, modeForm, nil
	}
	return form{}, "", unusable("its question is of the unknown mode %s", wire.Quote(e.Mode))
}

// pageOf returns the page that a server of an older revision wants opened before it does what it is asked. It cannot be answered: the request has ended.
// https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
func pageOf(failed *wire.Error) (form, bool) {
	var coded *jsonrpc.Error
	var data struct {
		Elicitations []elicitation `json:"elicitations"`
	}
	if !errors.As(failed, &coded) || coded.Code != sdk.CodeURLElicitationRequired || json.Unmarshal(coded.Data, &data) != nil || len(data.Elicitations) == 0 {
		return form{}, false
	}
	page, mode, err := data.Elicitations[0].form()
	return page, err == nil && mode == modeURL
}

// joined makes one form of several: an object with a property for each.
func joined(requests []inputRequest, forms map[string]form) (form, error) {
	if len(requests) == 1 {
		return forms[requests[0].Key], nil
	}
	var whole form
	var messages []string
	properties, required := map[string]json.RawMessage{}, []string{}
	for _, request := range requests {
		one := forms[request.Key]
		messages = append(messages, wire.Line(request.Key, maxNameBytes)+": "+one.Message)
		properties[request.Key] = one.Schema
		if request.Mode == modeForm {
			required = append(required, request.Key)
		}
		if one.URL == "" {
			continue
		}
		if whole.URL != "" {
			return form{}, unusable("it wants several pages opened at once")
		}
		whole.URL, whole.Host = one.URL, one.Host
	}
	whole.Message = strings.Join(messages, "\n")
	whole.Schema = domain.Encode(map[string]any{"type": "object", "properties": properties, "required": required})
	return whole, nil
}

func (f form) encode() (json.RawMessage, error) {
	encoded := domain.Encode(f)
	if len(encoded) > maxFormBytes {
		return nil, unusable("its question has %d bytes; at most %d are shown", len(encoded), maxFormBytes)
	}
	return encoded, nil
}

// input is what a repeated request carries besides the request.
type input struct {
	responses sdk.InputResponseMap
	state     string
}

// inputOf reads what a call is repeated with; a first call has nothing.
func inputOf(call Call) (input, error) {
	if call.Repeat == nil {
		return input{}, nil
	}
	var kept repeat
	if err := json.Unmarshal(call.Repeat, &kept); err != nil || call.Answer == nil || len(kept.Requests) == 0 {
		return input{}, domain.Errorf(domain.CodeNotStarted, "The call cannot go on: its question was not kept.").With(err)
	}
	answers, err := splitAnswer(kept.Requests, *call.Answer)
	if err != nil {
		return input{}, err
	}
	responses := sdk.InputResponseMap{}
	for _, request := range kept.Requests {
		response := &sdk.ElicitResult{Action: actionOf(*call.Answer)}
		if response.Action == actionAccept && request.Mode == modeForm {
			response.Content = answers[request.Key]
		}
		responses[request.Key] = response
	}
	return input{responses, kept.State}, nil
}

// splitAnswer returns the part of the answer that belongs to each question. Numbers stay as they were written.
func splitAnswer(requests []inputRequest, answer domain.Answer) (map[string]map[string]any, error) {
	parts := map[string]map[string]any{}
	if actionOf(answer) != actionAccept || len(answer.Content) == 0 {
		return parts, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(answer.Content))
	decoder.UseNumber()
	var err error
	if len(requests) == 1 {
		var content map[string]any
		err = decoder.Decode(&content)
		parts[requests[0].Key] = content
	} else {
		err = decoder.Decode(&parts)
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeNotStarted, "The answer to the question of the MCP server is not an object.").With(err)
	}
	return parts, nil
}

const (
	actionAccept  = "accept"
	actionDecline = "decline"
	actionCancel  = "cancel"
)

// actionOf is an answer in the words of the protocol.
func actionOf(answer domain.Answer) string {
	switch answer.Status {
	case domain.ApprovalApproved:
		return actionAccept
	case domain.ApprovalDenied:
		return actionDecline
	default:
		return actionCancel
	}
}

// elicit answers a question that comes inside an open call, as servers before [revisionStateless] ask. The SDK calls it in a goroutine of its own.
func (c *connection) elicit(ctx context.Context, request *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	declined := &sdk.ElicitResult{Action: actionDecline}
	open, others := c.asker()
	if open == nil {
		return declined, nil
	}
	defer c.haltClocks()()
	defer c.questionDone()
	asked := elicitation{Mode: request.Params.Mode, Message: request.Params.Message, URL: request.Params.URL}
	if request.Params.RequestedSchema != nil {
		asked.RequestedSchema = domain.Encode(request.Params.RequestedSchema)
	}
	f, mode, err := asked.form()
	if err != nil {
		return declined, nil
	}
	if others {
		f.Message += "\n\n(Other calls of this server are open; the question may be about one of them.)"
	}
	encoded, err := f.encode()
	if err != nil {
		return declined, nil
	}
	answer, err := open.ask(ctx, c.life, encoded)
	if err != nil {
		return nil, err
	}
	result := &sdk.ElicitResult{Action: actionOf(answer)}
	if result.Action == actionAccept && mode == modeForm {
		result.Content = map[string]any{}
		if len(answer.Content) > 0 && json.Unmarshal(answer.Content, &result.Content) != nil {
			return declined, nil
		}
	}
	return result, nil
}

// asker returns the call that a question is taken for: the last one that was sent. The protocol does not say which one the server means. nil: nobody
// answers.
func (c *connection) asker() (open *openCall, others bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) == 0 || c.questions == maxOpenQuestions {
		return nil, false
	}
	open = c.calls[len(c.calls)-1]
	if open.call.Ask == nil {
		return nil, false
	}
	c.questions++
	return open, len(c.calls) > 1
}

// haltClocks stops the time of all open calls, because nobody knows which of them waits for the answer, until the returned function is called.
func (c *connection) haltClocks() (goOn func()) {
	c.mu.Lock()
	open := slices.Clone(c.calls)
	c.mu.Unlock()
	for _, o := range open {
		o.clock.halt()
	}
	return func() {
		for _, o := range open {
			o.clock.goOn()
		}
	}
}

func (c *connection) questionDone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.questions--
}

// ask waits for the answer, for the end of the call, or of the connection.
func (o *openCall) ask(ctx, life context.Context, form json.RawMessage) (domain.Answer, error) {
	type answered struct {
		answer domain.Answer
		err    error
	}
	answers := make(chan answered, 1)
	go func() {
		answer, err := o.call.Ask(form)
		answers <- answered{answer, err}
	}()
	select {
	case a := <-answers:
		return a.answer, a.err
	case <-o.ended.Done():
		return domain.Answer{}, context.Cause(o.ended)
	case <-life.Done():
		return domain.Answer{}, context.Cause(life)
	case <-ctx.Done():
		return domain.Answer{}, context.Cause(ctx)
	}
}

// Package api holds the contract: the OpenAPI document, and the types of bodies and answers that are generated from it.
//
// The document is written first and by hand. It lists what works and nothing else; internal/http checks every request
// against it, serves it at /openapi.yaml, and a test keeps document and router together in both directions. The events
// of an execution's log have schemas in the document but no types here: their Go shape is in internal/domain, and they
// travel as the bytes that were encoded once for all followers.
package api

import (
	_ "embed"
	"encoding/json"
	"time"

	"signoff/internal/domain"
)

//go:generate go tool -modfile=../tools.mod oapi-codegen -config codegen.yaml openapi.yaml
//go:generate go run ./requests

// Document is the contract, as it is served.
//
//go:embed openapi.yaml
var Document []byte

// Requests is the part of the document that requests are checked against, in JSON: the operations without their answers,
// and what they refer to. A server reads it in a fifth of the time that the whole YAML takes.
//
//go:embed requests.gen.json
var Requests []byte

// Time is a moment as the contract writes it: RFC 3339, UTC, always with six digits of a second, so that times of the
// same log sort as strings.
type Time time.Time

const timeLayout = "2006-01-02T15:04:05.000000Z"

// MarshalJSON writes t as the contract says.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Time(t).UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time.
func (t *Time) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*time.Time)(t))
}

// Source is what answers the prompts of a new execution. Arguments are compared with the registry and not kept, and the name of an agent profile
// is replaced by the profile's own source.
type Source struct {
	domain.Source
	Args    []string `json:"args,omitempty"`
	Name    string   `json:"name,omitempty"`    // of an agent profile
	Version int      `json:"version,omitempty"` // 0: the newest
}

// RememberChoice says which rule a decision leaves behind.
type RememberChoice struct {
	Scope            domain.RememberScope `json:"scope"`
	PreviewID        string               `json:"previewId"`
	ExpiresInSeconds *int                 `json:"expiresInSeconds"`
}

// UnmarshalJSON reads a choice, or a bare scope in its place.
func (c *RememberChoice) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*c = RememberChoice{}
		return json.Unmarshal(data, &c.Scope)
	}
	type fields RememberChoice
	return json.Unmarshal(data, (*fields)(c))
}

// ContextSource is an execution whose conversation goes in front of another one's.
type ContextSource struct {
	ExecutionID string         `json:"executionId"`
	Include     ContextInclude `json:"include,omitempty"` // empty: [IncludeMessages]
}

// ContextInclude says how much of a conversation is taken.
type ContextInclude string

const (
	IncludeMessages  ContextInclude = "messages"  // of people and of agents
	IncludeToolCalls ContextInclude = "toolCalls" // beside the messages, with their results
)

// UnmarshalJSON reads a source, or a bare id in its place.
func (c *ContextSource) UnmarshalJSON(data []byte) error {
	*c = ContextSource{}
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &c.ExecutionID)
	}
	type fields ContextSource
	return json.Unmarshal(data, (*fields)(c))
}

// MarshalJSON writes a bare id where nothing else was asked for.
func (c ContextSource) MarshalJSON() ([]byte, error) {
	if c.Include == "" || c.Include == IncludeMessages {
		return domain.Encode(c.ExecutionID), nil
	}
	type fields ContextSource
	return domain.Encode(fields(c)), nil
}

// PromptInput is what a client says: a text, or a list of parts.
type PromptInput struct {
	Text  string
	Parts []domain.PromptPart // as they were sent; nil: it was a text
}

// UnmarshalJSON reads a text or a list.
func (p *PromptInput) UnmarshalJSON(data []byte) error {
	*p = PromptInput{}
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &p.Parts)
	}
	return json.Unmarshal(data, &p.Text)
}

// MarshalJSON writes what UnmarshalJSON reads.
func (p PromptInput) MarshalJSON() ([]byte, error) {
	if p.Parts != nil {
		return domain.Encode(p.Parts), nil
	}
	return domain.Encode(p.Text), nil
}

// Or is *p, or missing in the place of a field that was left out.
func Or[T any](p *T, missing T) T {
	if p == nil {
		return missing
	}
	return *p
}

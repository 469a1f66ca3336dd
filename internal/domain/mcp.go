package domain

import (
	"encoding/json"
	"time"
)

// MCPTool is the tool of an MCP server that a call is for.
type MCPTool struct {
	Server      string         `json:"server"`     // its name in the registry
	Tool        string         `json:"tool"`       // as the server calls it
	Definition  string         `json:"definition"` // hash of its definition: SHA-256, in hex; see mcp.Tool
	Annotations MCPAnnotations `json:"annotations"`

	// Canonical is the definition that Definition is the hash of: canonical JSON (RFC 8785) of name, description, input and output schema, and
	// annotations. The log does not have it. nil: it is not known here.
	Canonical json.RawMessage `json:"-"`
}

// MCPAnnotations are what a server says of the effects of its tool. They are hints: a server may lie.
// https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations
type MCPAnnotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    *bool  `json:"readOnlyHint,omitempty"` // nil: the server does not say
	Destructive *bool  `json:"destructiveHint,omitempty"`
	Idempotent  *bool  `json:"idempotentHint,omitempty"`
	OpenWorld   *bool  `json:"openWorldHint,omitempty"`
}

// MCPPin is the definition of a tool to which a person has said yes.
type MCPPin struct {
	Tenant     TenantID
	Server     string
	Tool       string
	Hash       string          // [MCPTool.Definition]
	Definition json.RawMessage // the definition itself, for a comparison with a later one; nil: it was too long to keep
	First      time.Time       // when somebody said yes to the tool for the first time, whatever its definition was
	Last       time.Time       // when somebody said yes to this definition
	By         Actor           // who said that last
}

// MCPTrust is how far the operator trusts what an MCP server says of its tools. The zero value does not.
type MCPTrust struct {
	PinOff bool // an operator's rule also covers tools that are new or have changed
	Hints  bool // a tool with readOnlyHint only reads
}

// MCPStanding compares the definition of a tool with its pin.
type MCPStanding string

const (
	MCPToolNew     MCPStanding = "new"     // nobody of the tenant has said yes to the tool
	MCPToolKnown   MCPStanding = "known"   // somebody has, and its definition is the same
	MCPToolChanged MCPStanding = "changed" // somebody has, and its definition is another one
)

// MCPReview is what a person sees of the tool of an MCP server before deciding about a call of it.
type MCPReview struct {
	MCPTool
	Standing     MCPStanding `json:"standing,omitempty"`     // when the question was asked; empty: nobody has compared it
	PinnedHash   string      `json:"pinnedHash,omitempty"`   // of the definition that somebody has approved
	PinnedAt     *time.Time  `json:"pinnedAt,omitempty"`     // when
	PinnedBy     *Actor      `json:"pinnedBy,omitempty"`     // who
	Changes      []MCPChange `json:"changes,omitempty"`      // from the pinned definition to this one, of a tool that has changed
	ChangesShort bool        `json:"changesShort,omitempty"` // there are more changes, or they are longer
}

// MCPChange is one difference between two definitions of a tool.
type MCPChange struct {
	Field  string  `json:"field"`  // a JSON pointer into the definition: /description, /inputSchema/properties/path/type
	Before *string `json:"before"` // nil: it was not there
	After  *string `json:"after"`  // nil: it is not there any more
}

// Inquiry is a question that the server of a started call asks before it answers the call.
type Inquiry struct {
	Question Question // of kind [ApprovalQuestion], about the call

	// Repeat is what the request is repeated with when the answer is there, by whichever server drives the execution then. It is kept beside the log,
	// where no route reads it. nil: the call is open at the MCP server, and lives as long as its connection.
	Repeat json.RawMessage
}

// Continuation is where a call goes on that an earlier process has begun, and whose server has asked a question since.
type Continuation struct {
	Repeat json.RawMessage // of the [Inquiry]
	Answer Answer
}

// MCPCredential is the sign-in of a tenant at the authorization server of an MCP server.
type MCPCredential struct {
	MCPCredentialKey
	Sealed  []byte // the tokens, encrypted together with the key; no two writings are the same
	Updated time.Time
	Refused *time.Time // since when the authorization server takes its refresh token no more; nil: it does, as far as is known
}

// MCPCredentialKey says whose a sign-in is, and for what.
type MCPCredentialKey struct {
	Tenant   TenantID
	Server   string // name of the MCP server in the registry
	Issuer   string // of the authorization server
	Resource string // that the tokens are for: the address of the MCP server
	ClientID string // of Signoff at the authorization server
}

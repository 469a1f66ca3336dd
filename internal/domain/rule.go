package domain

import (
	"bytes"
	"reflect"
	"time"
)

// PermissionRule is a stored verdict on similar calls: a remembered decision, or a rule of an operator.
type PermissionRule struct {
	ID        string
	Tenant    TenantID
	Scope     RememberScope // execution, tree or global
	Execution ExecutionID   // for the scope execution; the root, for the scope tree; empty for a global rule
	Effect    Verdict
	Matcher   Matcher
	Approval  ApprovalID // the decision that it remembers; empty where it was written by itself
	By        Actor
	Created   time.Time
	Expires   *time.Time // nil = never
	Revoked   *time.Time
	Hits      int64 // how often it has decided
	LastHit   *time.Time
}

// Active reports whether the rule holds at now.
func (r PermissionRule) Active(now time.Time) bool {
	return r.Revoked == nil && (r.Expires == nil || now.Before(*r.Expires))
}

// Matcher says which calls a rule covers. Every field that is set must hold; one with no field set covers nothing.
type Matcher struct {
	ArgumentsHash string `json:"argumentsHash,omitempty"` // exactly this call, see approvals.Hash
	Tool          string `json:"tool,omitempty"`          // as the model knows it; with Server, also as the MCP server calls it
	Agent         string `json:"agent,omitempty"`         // whose calls: "internal", or the name of an external agent
	Class         Class  `json:"class,omitempty"`
	Path          string `json:"path,omitempty"`    // a glob, ** included, for the absolute paths of the call
	Command       string `json:"command,omitempty"` // the words of a simple command; " *" at the end: whatever follows
	Host          string `json:"host,omitempty"`    // for the hosts that the call connects to, see egress.Covers
	Server        string `json:"mcpServer,omitempty"`

	// Arguments are globs for values among the arguments of a call for Server. A key is a name at the top, or a JSON pointer.
	Arguments map[string]string `json:"arguments,omitempty"`

	// Environment is the name of the environment that the call runs in. A rule that allows without one holds in the environment workspace alone, and a
	// rule that restricts without one in all. With a digest, a rule that allows holds for that definition alone.
	Environment       string `json:"environment,omitempty"`
	EnvironmentDigest string `json:"environmentDigest,omitempty"`
}

// Empty reports whether no field is set.
func (m Matcher) Empty() bool {
	named := m
	if len(named.Arguments) == 0 {
		named.Arguments = nil
	}
	return reflect.ValueOf(named).IsZero()
}

// Equal reports whether both matchers say the same.
func (m Matcher) Equal(other Matcher) bool { return bytes.Equal(Encode(m), Encode(other)) }

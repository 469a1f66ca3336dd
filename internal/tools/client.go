package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/runbooks"
	"signoff/internal/schema"
)

const (
	maxClientDescription = 40_000
)

// clientName is the pattern of tool names that every vendor accepts.
var clientName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]{0,63}$`)

// ClientTool is a tool that the client runs. The agent's loop hands its calls to [domain.Host.CallClient].
type ClientTool struct {
	definition Definition
	arguments  *schema.Schema
	blocks     *runbooks.Types // that the member blocks is held against; nil: there is none
}

var _ Tool = (*ClientTool)(nil)

// NewClientTool makes a tool of a request's declaration. An invalid one is a [*domain.Error] with
// [domain.CodeInvalid], whose pointers begin at the declaration.
func NewClientTool(declared domain.ClientTool) (*ClientTool, error) {
	switch {
	case !clientName.MatchString(declared.Name):
		return nil, domain.Invalid("/name", "The name of a tool has 1 to 64 letters, digits, _ and -, and begins with a letter.")
	case strings.TrimSpace(declared.Description) == "":
		return nil, domain.Invalid("/description", "The tool %s has no description, so no model would know what it is for.", declared.Name)
	case len(declared.Description) > maxClientDescription:
		return nil, domain.Invalid("/description", "The description of the tool %s has %d bytes; at most %d are allowed.",
			declared.Name, len(declared.Description), maxClientDescription)
	case !slices.Contains(append(slices.Clone(domain.Classes), domain.ClassNone, domain.ClassOther), declared.Class):
		return nil, domain.Invalid("/class", "The tool %s has the class %q, which does not exist.", declared.Name, shorten(visible(string(declared.Class)), 60, 0))
	case !schema.OfObject(declared.Schema):
		return nil, domain.Invalid("/schema", "The schema of the tool %s must describe an object: {\"type\": \"object\", …}.", declared.Name)
	}
	arguments, err := schema.Compile(declared.Schema)
	if err != nil {
		return nil, domain.Invalid("/schema", "The schema of the tool %s: %s", declared.Name, domain.FailureOf(err).Message).With(err)
	}
	return &ClientTool{arguments: arguments, definition: Definition{
		Name: declared.Name, Version: versionOf(declared), Class: declared.Class, Description: declared.Description, Schema: declared.Schema,
	}}, nil
}

// versionOf changes with everything that a person may have relied on: an approval of one tool does not hold for another of its name. The
// schema counts as the database returns it, without blanks: otherwise the session that got the request would ask for one version, and the
// decision would find another.
func versionOf(declared domain.ClientTool) string {
	sum := sha256.Sum256(domain.Encode([]string{string(declared.Class), declared.Description, string(domain.Encode(declared.Schema))}))
	return hex.EncodeToString(sum[:8])
}

// Definition implements [Tool].
func (c *ClientTool) Definition() Definition { return c.definition }

// Check implements [Tool].
func (c *ClientTool) Check(arguments json.RawMessage, _ string) (Intent, error) {
	if err := CheckForeign(arguments, c.arguments); err != nil {
		return Intent{}, err
	}
	if err := c.checkBlocks(arguments); err != nil {
		return Intent{}, err
	}
	return Intent{Summary: "Have the client run " + code(c.definition.Name) + " with " + code(string(arguments))}, nil
}

// checkBlocks holds the blocks of a tool of ours against their types. A mark in them would take the place of a secret that the
// runbook has, and the model was not shown.
func (c *ClientTool) checkBlocks(arguments json.RawMessage) error {
	if c.blocks == nil {
		return nil
	}
	if bytes.Contains(arguments, []byte(domain.Masked)) {
		return invalid("The mark %s stands where a secret was hidden from you; the runbook has the secret itself, and would lose it. "+
			"Leave that prop, or that block, as it is.", domain.Masked)
	}
	blocks, given := membersOf(arguments)["blocks"]
	if !given || string(bytes.Join(bytes.Fields(blocks), nil)) == "[]" {
		return nil // the schema says which members are required
	}
	if details := c.blocks.CheckBlocks(blocks); len(details) > 0 {
		return misfit(foreignMessage, "/blocks", details)
	}
	return nil
}

// Run implements [Tool].
func (*ClientTool) Run(context.Context, domain.Host, domain.ToolCall) Result {
	return failed("", domain.Errorf(domain.CodeToolFailed, "This tool is run by the client, not here."))
}

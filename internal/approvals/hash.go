package approvals

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"signoff/internal/domain"
	"signoff/internal/jcs"
)

// shown is the approved call: every field that changes its effect.
type shown struct {
	Tool             string          `json:"tool"`
	Version          string          `json:"version"`
	Arguments        json.RawMessage `json:"arguments"`
	WorkingDirectory string          `json:"workingDirectory"`
	Environment      []string        `json:"environment"` // names; the sandbox passes none of the server's on

	// Definition is the hash of the definition of an MCP tool. It is left out for every other call, and for those of external agents.
	Definition string `json:"definition,omitempty"`

	// Isolation is what the call sees of the machine. With it the hash is of version 2. A hash of version 1 has none: the execution is older than
	// environments, or an external agent runs the call outside of any. An approval without an environment is checked by version 1.
	Isolation *domain.EnvironmentStamp `json:"isolation,omitempty"`
}

// Hash identifies a call: SHA-256, in hex, over canonical JSON (RFC 8785) of tool and version, arguments,
// working directory, the names of its variables, the definition of an MCP tool, and what it sees of the machine. Equal bytes run, or another hash is shown. Arguments that have no
// canonical form of their own have no hash.
func Hash(call domain.ToolCall, workingDirectory string, environment *domain.EnvironmentStamp) (string, error) {
	definition := ""
	if call.MCP != nil {
		definition = call.MCP.Definition
	}
	plain, err := json.Marshal(shown{
		Tool: call.Tool, Version: call.Version, Arguments: call.Arguments,
		WorkingDirectory: workingDirectory, Environment: []string{}, Definition: definition, Isolation: environment,
	})
	if err != nil {
		return "", fmt.Errorf("approvals: arguments are not JSON: %w", err)
	}
	canonical, err := jcs.Canonical(plain)
	if err != nil {
		return "", fmt.Errorf("approvals: arguments: %w", err)
	}
	digest := sha256.Sum256(canonical)
	return hex.EncodeToString(digest[:]), nil
}

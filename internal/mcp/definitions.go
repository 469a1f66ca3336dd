package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
	"signoff/internal/jcs"
	"signoff/internal/mcp/wire"
)

// Bounds of the lists of a server.
const (
	maxTools           = 256
	maxDefinitionBytes = 256 << 10 // of all tools together
	maxPages           = 256
	maxToolNameBytes   = 128
	maxTTL             = 24 * time.Hour
)

// definitions are the tools of a server at one moment.
type definitions struct {
	tools []Tool
	stale time.Time // zero: they hold until the server says that they have changed
}

// equal reports whether the tools and their hashes are the same.
func (d definitions) equal(other definitions) bool {
	if len(d.tools) != len(other.tools) {
		return false
	}
	for i, tool := range d.tools {
		if tool.Tool != other.tools[i].Tool || tool.Definition != other.tools[i].Definition {
			return false
		}
	}
	return true
}

func (d definitions) find(name string) (Tool, bool) {
	for _, tool := range d.tools {
		if tool.Tool == name {
			return tool, true
		}
	}
	return Tool{}, false
}

// wireTool is a tool as it stands in a list.
type wireTool struct {
	Name         string          `json:"name"`
	Description  json.RawMessage `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
}

// list reads the tools of the server that is connected.
func (c *connection) list(ctx context.Context) (definitions, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout(c.server), wire.ErrTimeout)
	defer cancel()
	if capabilities := c.session.InitializeResult().Capabilities; capabilities == nil || capabilities.Tools == nil {
		return definitions{}, nil
	}
	read := definitions{}
	size := 0
	err := pages(func(cursor string) (next string, err error) {
		var known map[string]bool
		raw, err := c.send(ctx, "tools/list", func(ctx context.Context) error {
			result, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			if err == nil {
				known = namesOf(result.Tools)
			}
			return err
		})
		if err != nil {
			return "", err
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
			TTL        float64           `json:"ttlMs"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return "", &wire.Error{Outcome: wire.Unread, Text: "sent a list of tools that cannot be read", Cause: err}
		}
		for _, tool := range page.Tools {
			if size += len(tool); size > maxDefinitionBytes {
				return "", &wire.Error{Outcome: wire.Unread, Text: fmt.Sprintf("defines its tools with more than %d KiB", maxDefinitionBytes>>10)}
			}
			read.add(c.name, tool, known)
		}
		if len(read.tools) > maxTools {
			return "", &wire.Error{Outcome: wire.Unread, Text: fmt.Sprintf("has more than %d tools", maxTools)}
		}
		read.holdFor(time.Duration(min(page.TTL, float64(maxTTL/time.Millisecond))) * time.Millisecond)
		return page.NextCursor, nil
	})
	if err != nil {
		return definitions{}, err
	}
	return read, nil
}

// namesOf returns the names of the tools that the SDK has kept: it leaves out those whose headers it refuses to send.
func namesOf(tools []*sdk.Tool) map[string]bool {
	names := map[string]bool{}
	for _, tool := range tools {
		names[tool.Name] = true
	}
	return names
}

// pages reads a list page by page. A server that never comes to the end is stopped.
func pages(read func(cursor string) (next string, err error)) error {
	seen := map[string]bool{}
	for cursor := ""; ; {
		next, err := read(cursor)
		switch {
		case err != nil:
			return err
		case next == "":
			return nil
		case seen[next] || len(seen) == maxPages:
			return &wire.Error{Outcome: wire.Unread, Text: "sent a list that does not end"}
		}
		seen[next], cursor = true, next
	}
}

// holdFor notes the time to live of a page. The first page to age makes all of them old.
func (d *definitions) holdFor(ttl time.Duration) {
	if ttl <= 0 {
		return
	}
	if stale := time.Now().Add(ttl); d.stale.IsZero() || stale.Before(d.stale) {
		d.stale = stale
	}
}

// add takes a tool into the list. A tool that cannot be called is left out: its name is not one, stands there a second time, or is not known. known is nil
// where the SDK cannot read the list: one strange tool does not hide the others.
func (d *definitions) add(server string, raw json.RawMessage, known map[string]bool) {
	var sent wireTool
	if json.Unmarshal(raw, &sent) != nil || known != nil && !known[sent.Name] || sent.Name == "" || len(sent.Name) > maxToolNameBytes || wire.Line(sent.Name, maxToolNameBytes) != sent.Name {
		return
	}
	if _, twice := d.find(sent.Name); twice {
		return
	}
	var description string
	var annotations domain.MCPAnnotations
	_ = json.Unmarshal(sent.Description, &description) // one that is no text is none; it counts for the hash all the same
	_ = json.Unmarshal(sent.Annotations, &annotations)
	annotations.Title = wire.Line(annotations.Title, maxNameBytes)
	canonical := sent.canonical()
	digest := sha256.Sum256(canonical)
	d.tools = append(d.tools, Tool{
		MCPTool: domain.MCPTool{
			Server: server, Tool: sent.Name, Definition: hex.EncodeToString(digest[:]), Annotations: annotations, Canonical: canonical,
		},
		Description:  wire.Harmless(description),
		InputSchema:  schemaOf(sent.InputSchema, json.RawMessage(`{"type":"object"}`)),
		OutputSchema: schemaOf(sent.OutputSchema, nil),
	})
}

func schemaOf(raw, otherwise json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return otherwise
	}
	return raw
}

// canonical is what the hash covers. A part that has no canonical form, because it has a number that no float64 holds or a name twice, stands there
// as the text that the server sent.
func (w wireTool) canonical() json.RawMessage {
	parts := map[string]json.RawMessage{"name": domain.Encode(w.Name)}
	for name, raw := range map[string]json.RawMessage{
		"description": w.Description, "inputSchema": w.InputSchema, "outputSchema": w.OutputSchema, "annotations": w.Annotations,
	} {
		if raw == nil {
			continue
		}
		if canonical, err := jcs.Canonical(raw); err == nil {
			parts[name] = canonical
		} else {
			parts[name] = domain.Encode(string(raw))
		}
	}
	canonical, err := jcs.Canonical(domain.Encode(parts))
	if err != nil {
		panic("mcp: canonical parts have no canonical form: " + err.Error()) // each of them has one
	}
	return canonical
}

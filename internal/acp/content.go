package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"

	"signoff/internal/acp/settings"
	"signoff/internal/domain"
)

// content is a prompt with its content blocks (https://agentclientprotocol.com/protocol/content). It is written as the JSON that is sent, which is made
// once, of one file at a time: the files of a prompt have up to 50 MB.
type content struct {
	host   domain.Host
	takes  settings.Takes
	folder string // that the paths of files are relative to
	json   []byte // the parameters of session/prompt, as far as they are written
}

// newContent begins the parameters of a prompt, with room for its parts.
func (a *agent) newContent(host domain.Host, parts []domain.PromptPart) *content {
	c := &content{host: host, takes: a.takes(), folder: a.execution.Request.WorkingDirectory, json: make([]byte, 0, room(parts))}
	c.json = append(c.json, `{"sessionId":`...)
	c.end(domain.Encode(a.session), `,"prompt":[`)
	return c
}

// text adds a text; an empty one is no block.
func (c *content) text(text string) {
	if text != "" {
		c.begin(`{"type":"text","text":`)
		c.end(domain.Encode(text), `}`)
	}
}

// part adds a part of a prompt, which the agent takes.
func (c *content) part(ctx context.Context, part domain.PromptPart) error {
	if !part.IsFile() {
		c.text(part.Text)
		return nil
	}
	_, bytes, err := c.host.ReadFile(ctx, part.FileID)
	if err != nil {
		return fmt.Errorf("acp: read a file of the prompt: %w", err)
	}
	switch isText := domain.IsText(part.MediaType); {
	case domain.IsPicture(part.MediaType):
		c.begin(`{"type":"image","mimeType":` + string(domain.Encode(part.MediaType)) + `,"data":"`)
		c.json = base64.StdEncoding.AppendEncode(c.json, bytes)
		c.end(nil, `"}`)
	case isText && !c.takes.Resources:
		c.text(part.AsText(bytes))
	case isText:
		c.resource(part, "text")
		c.end(domain.Encode(string(bytes)), `}}`)
	default:
		c.resource(part, "blob")
		c.json = append(c.json, '"')
		c.json = base64.StdEncoding.AppendEncode(c.json, bytes)
		c.end(nil, `"}}`)
	}
	return nil
}

// resource begins the block of an embedded file, up to its content.
func (c *content) resource(part domain.PromptPart, member string) {
	c.begin(`{"type":"resource","resource":{"uri":` + string(domain.Encode(c.address(part))) + `,"mimeType":` + string(domain.Encode(part.MediaType)) + `,"` + member + `":`)
}

// address is the URI of a file: where it was read, or one that only names it.
func (c *content) address(part domain.PromptPart) string {
	switch {
	case part.Path == "":
		return (&url.URL{Scheme: "signoff", Host: "files", Path: "/" + string(part.FileID) + "/" + part.Name}).String()
	case filepath.IsAbs(part.Path):
		return (&url.URL{Scheme: "file", Path: part.Path}).String()
	default:
		return (&url.URL{Scheme: "file", Path: filepath.Join(c.folder, part.Path)}).String()
	}
}

func (c *content) begin(text string) {
	if c.json[len(c.json)-1] != '[' {
		c.json = append(c.json, ',')
	}
	c.json = append(c.json, text...)
}

func (c *content) end(value json.RawMessage, text string) {
	c.json = append(append(c.json, value...), text...)
}

// blockBytes is room for the JSON around the content of a block.
const blockBytes = 500

// room is about how many bytes the blocks of the parts have.
func room(parts []domain.PromptPart) (bytes int) {
	for _, part := range parts {
		bytes += len(part.Text) + base64.StdEncoding.EncodedLen(int(part.Size)) + blockBytes
	}
	return bytes + blockBytes
}

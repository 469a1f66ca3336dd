package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/tools"
)

const (
	resultBytes = 32 << 10 // of a result, for the model; the rest is in the log
	maxFiles    = 20       // of one result
)

// source names a server to a model.
func source(server string) string { return "the MCP server " + tools.Quote(server) }

// received is the result of a call that a server has answered.
func (c *Config) received(ctx context.Context, host domain.Host, call domain.ToolCall, server string, got mcp.Result) tools.Result {
	files, notes := kept(ctx, host, got.Files)
	text := joined(append([]string{textOf(got)}, notes...)...)
	if text == "" {
		text = "(the result is empty)"
	}
	text = c.Mask(strings.ToValidUTF8(text, "\uFFFD")) // before it is cut: half a secret would not be known as one
	result := tools.LongText(ctx, host, call.ID, tools.Foreign(source(server), text), resultBytes)
	result.Files = files
	if got.Failed {
		result.Failure = &domain.Failure{Code: domain.CodeToolFailed, Message: "The tool of the MCP server says that it has failed."}
	}
	return result
}

// failed is the result of a call that brought none.
func (c *Config) failed(server string, err error) tools.Result {
	switch code := domain.CodeOf(err); code {
	case domain.CodeDefinitionChanged:
		return failure(code, c.Mask(domain.FailureOf(err).Message)+" Nothing was sent. You have the present list of tools now: "+
			"look at the tool again, and call it if that is still right.")
	case domain.CodeInternal: // it has no code, and may name anything
		return failure(domain.CodeToolFailed, "The MCP server could not be called.")
	default:
		result := failure(code, c.Mask(domain.FailureOf(err).Message))
		if code == domain.CodeToolFailed || code == domain.CodeMCPServerUnavailable { // it may have words of the server
			result.ModelOutput = tools.Foreign(source(server), result.Output)
		}
		return result
	}
}

func failure(code domain.Code, message string) tools.Result {
	return tools.Result{Output: message, Failure: &domain.Failure{Code: code, Message: message}}
}

// noted is a result behind what has happened to servers since the last one: the model may rely on what one had in its memory.
func (c *Config) noted(ctx context.Context, host domain.Host, result tools.Result) tools.Result {
	var notes []string
	for _, server := range c.Session.Restarted() {
		notes = append(notes, fmt.Sprintf("[The MCP server %s was started again since you used it last. What it had in its memory is lost.]", server))
		_ = host.Emit(ctx, domain.MCPServerRestarted{Server: server}) // refused only where the session is over
	}
	if notes == nil {
		return result
	}
	if result.ModelOutput != "" {
		result.ModelOutput = joined(append(notes, result.ModelOutput)...)
	}
	result.Output = joined(append(notes, result.Output)...)
	return result
}

// textOf is the text of a result, with its structured content. Most servers send the same twice, for clients that know no structured content.
func textOf(got mcp.Result) string {
	if len(got.Structured) == 0 || begins(got.Text, got.Structured) {
		return got.Text
	}
	return joined(got.Text, "Structured content: "+string(got.Structured))
}

// begins reports whether a text begins with the document.
func begins(text string, document json.RawMessage) bool {
	var first json.RawMessage
	var of, with bytes.Buffer
	if json.NewDecoder(strings.NewReader(text)).Decode(&first) != nil || json.Compact(&of, first) != nil || json.Compact(&with, document) != nil {
		return false
	}
	return bytes.Equal(of.Bytes(), with.Bytes())
}

// kept stores the pictures and the audio of a result. What cannot be stored is noted.
func kept(ctx context.Context, host domain.Host, blobs []mcp.Blob) (files []domain.PromptPart, notes []string) {
	for i, blob := range blobs {
		if i == maxFiles {
			notes = append(notes, fmt.Sprintf("[%d more files of the result are left out.]", len(blobs)-maxFiles))
			break
		}
		part, err := stored(ctx, host, blob)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("[A file of the result is left out: %s, %d bytes. %s]", tools.Quote(blob.MediaType), len(blob.Content), domain.FailureOf(err).Message))
			continue
		case part.Type == domain.PartImage:
			notes = append(notes, fmt.Sprintf("[A picture: %s, %d bytes.]", part.MediaType, part.Size))
		default:
			notes = append(notes, fmt.Sprintf("[Audio, which people can play and you are not sent: %s, %s, %d bytes.]", tools.Quote(part.Name), part.MediaType, part.Size))
		}
		files = append(files, part)
	}
	return files, notes
}

// stored is a picture or audio as a file of the execution.
func stored(ctx context.Context, host domain.Host, blob mcp.Blob) (domain.PromptPart, error) {
	mediaType, err := domain.ResultMediaTypeOf(blob.Content)
	if err != nil {
		return domain.PromptPart{}, err
	}
	part := domain.PromptPart{Type: domain.PartImage}
	if domain.IsAudio(mediaType) {
		part.Type, blob.Name = domain.PartFile, domain.AudioName(blob.Name, mediaType)
	}
	file, err := host.SaveFile(ctx, blob.Name, blob.Content)
	if err != nil {
		return domain.PromptPart{}, err
	}
	return part.Stored("", file)
}

// joined puts the texts that are not empty one below the other.
func joined(texts ...string) string {
	var all []string
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}

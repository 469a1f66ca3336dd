package tools

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/runbooks"
)

const (
	documentFields   = `optionally "offset" and "limit" (numbers)`
	maxDocumentBytes = 32 << 10
	mostBlocks       = 1_000_000
	noDocument       = "(there is no document: this execution was started without one)"
)

//go:embed get_runbook_document.md
var documentText string

// GetRunbookDocument shows the model the runbook, as the client has sent it last.
type GetRunbookDocument struct{}

var _ Tool = GetRunbookDocument{}

type documentArguments struct{ offset, limit int }

// Definition implements [Tool].
func (GetRunbookDocument) Definition() Definition {
	return Definition{
		Name:        runbooks.GetDocument,
		Version:     "1",
		Class:       domain.ClassRead,
		Description: documentText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"offset": {"type": "integer", "minimum": 1, "description": "The number of the first block. Default 1."},
				"limit": {"type": "integer", "minimum": 1, "description": "How many blocks at most. Default: as many as can be shown."}
			},
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (GetRunbookDocument) Check(arguments json.RawMessage, _ string) (Intent, error) {
	if _, err := readDocumentArguments(arguments); err != nil {
		return Intent{}, err
	}
	return Intent{Summary: "Read the runbook's document"}, nil
}

// Run implements [Tool].
func (GetRunbookDocument) Run(_ context.Context, host domain.Host, call domain.ToolCall) Result {
	wanted, err := readDocumentArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	runbook := host.Runbook()
	if runbook.Document == nil {
		return Result{Output: noDocument}
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(runbook.Document.Blocks, &blocks); err != nil {
		return failed("", domain.Errorf(domain.CodeToolFailed, "The document is no list of blocks, so it cannot be shown.").With(err))
	}
	return showBlocks(aboutDocument(runbook, len(blocks)), blocks, wanted)
}

// aboutDocument is the line before the blocks.
func aboutDocument(runbook domain.Runbook, blocks int) string {
	about := blocksOf(blocks) + "."
	if runbook.Document.Revision != "" {
		about = fmt.Sprintf("Revision %s. ", code(runbook.Document.Revision)) + about
	}
	if runbook.InsertAfter != "" {
		about += fmt.Sprintf(" New blocks are wanted behind the block with the id %s.", code(runbook.InsertAfter))
	}
	return about
}

// showBlocks shows as many blocks as there is room for. The first one is always among them, if only its beginning and end.
func showBlocks(about string, blocks []json.RawMessage, wanted documentArguments) Result {
	var text strings.Builder
	text.WriteString(about + "\n")
	last := len(blocks)
	if wanted.limit < last-wanted.offset+1 {
		last = wanted.offset + wanted.limit - 1
	}
	next := wanted.offset
	for ; next <= last; next++ {
		line := fmt.Sprintf("%d: %s\n", next, blockLine(blocks[next-1]))
		if next > wanted.offset && text.Len()+len(line) > maxDocumentBytes {
			break
		}
		text.WriteString(line)
	}
	switch {
	case wanted.offset > len(blocks) && len(blocks) > 0:
		return failed(about, invalid("There is no block number %d.", wanted.offset))
	case next <= len(blocks):
		fmt.Fprintf(&text, "[… %s more. Go on with the offset %d.]", blocksOf(len(blocks)-next+1), next)
		return Result{Output: text.String(), Truncated: true}
	}
	return Result{Output: text.String()}
}

// blockLine is a block on one line. One that is too long for the model loses its middle.
func blockLine(block json.RawMessage) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, block); err != nil {
		return "(this block cannot be read)"
	}
	return clipped(compact.String(), maxDocumentBytes)
}

// clipped keeps the beginning and the end of a text that is longer than limit.
func clipped(text string, limit int) string {
	kept := headTail{headBytes: limit * 2 / 3, tailBytes: limit / 3}
	kept.write(text)
	text, _ = kept.text(func(left int) string { return fmt.Sprintf("[… %d bytes left out here …]", left) })
	return text
}

func readDocumentArguments(arguments json.RawMessage) (documentArguments, error) {
	members := readFields(arguments, documentFields, "offset", "limit")
	wanted := documentArguments{offset: members.number("offset", 1, 1, mostBlocks), limit: members.number("limit", mostBlocks, 1, mostBlocks)}
	return wanted, members.mistake
}

package tools

import (
	_ "embed"

	"signoff/internal/domain"
	"signoff/internal/runbooks"
)

var (
	//go:embed insert_blocks.md
	insertBlocksText string

	//go:embed update_block.md
	updateBlockText string

	//go:embed replace_blocks.md
	replaceBlocksText string

	//go:embed live_document.md
	liveDocumentText string
)

// LiveDocument is get_runbook_document where the request brings no document: the client's editor tells how it is now. A document that
// came with the request would stay as it was, whatever the assistant has changed since.
func LiveDocument() *ClientTool {
	tool, err := NewClientTool(domain.ClientTool{
		Name: runbooks.GetDocument, Description: liveDocumentText, Class: domain.ClassRead,
		Schema: domain.Encode(map[string]any{"type": "object", "properties": map[string]any{}, "additionalProperties": false}),
	})
	if err != nil { // the same schema each time
		panic("tools: " + err.Error())
	}
	return tool
}

// DocumentTools are the client's tools by which an assistant changes a runbook. A request may declare one of the same name in
// its place.
func DocumentTools(types *runbooks.Types) []*ClientTool {
	id := map[string]any{"type": "string", "minLength": 1}
	several := blocksSchema(types, "The new blocks, in their order.")
	some := blocksSchema(types, "The new blocks, in their order.")
	some["minItems"] = 1
	return []*ClientTool{
		documentTool(types, runbooks.InsertBlocks, insertBlocksText, map[string]any{"blocks": some, "after": id}, "blocks"),
		documentTool(types, runbooks.UpdateBlock, updateBlockText, map[string]any{"id": id, "props": map[string]any{"type": "object", "minProperties": 1}}, "id", "props"),
		documentTool(types, runbooks.ReplaceBlocks, replaceBlocksText, map[string]any{
			"ids": map[string]any{"type": "array", "items": id, "minItems": 1, "uniqueItems": true}, "blocks": several,
		}, "ids", "blocks"),
	}
}

func documentTool(types *runbooks.Types, name, description string, properties map[string]any, required ...string) *ClientTool {
	tool, err := NewClientTool(domain.ClientTool{
		Name: name, Description: description, Class: domain.ClassWrite,
		Schema: domain.Encode(map[string]any{
			"type": "object", "properties": properties, "required": required, "additionalProperties": false,
		}),
	})
	if err != nil { // the same schema each time, but for the names of types, which are checked
		panic("tools: " + err.Error())
	}
	tool.blocks = known(types)
	return tool
}

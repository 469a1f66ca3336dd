package runbooks

import "signoff/internal/domain"

// GetDocument is the tool that reads the document: the server's if the request brings a document, otherwise the client's.
const GetDocument = "get_runbook_document"

// ClientMayRun reports whether the client may run a tool of the server's in this execution.
func ClientMayRun(request domain.Request, name string) bool {
	return name == GetDocument && request.Kind != domain.KindGeneration && request.Runbook.Document == nil
}

// The tools by which an assistant changes a document. The client runs them; requests and the agent's loop both go by their names.
const (
	InsertBlocks  = "insert_blocks"
	UpdateBlock   = "update_block"
	ReplaceBlocks = "replace_blocks"
)

// DocumentTools are the names of all of them.
var DocumentTools = []string{InsertBlocks, UpdateBlock, ReplaceBlocks}

package runbooks

import "signoff/internal/domain"

// GetDocument is the tool that reads the document: the server's where the request brings one, the client's otherwise.
const GetDocument = "get_runbook_document"

// ClientMayRun tells whether a tool of the server may be the client's in this execution.
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

package runbooks

// The tools by which an assistant changes a document. The client runs them; requests and the agent's loop both go by their names.
const (
	InsertBlocks  = "insert_blocks"
	UpdateBlock   = "update_block"
	ReplaceBlocks = "replace_blocks"
)

// DocumentTools are the names of all of them.
var DocumentTools = []string{InsertBlocks, UpdateBlock, ReplaceBlocks}

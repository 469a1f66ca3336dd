package http

import (
	"strconv"

	"signoff/internal/domain"
)

// This file declares parameters of several operations.

// executionPath names an execution in the path. The document says what an id looks like.
type executionPath struct {
	ID domain.ExecutionID `path:"id"`
}

// approvalPath names an approval in the path.
type approvalPath struct {
	ID domain.ApprovalID `path:"id"`
}

// namedPath names a rule or a webhook in the path.
type namedPath struct {
	ID string `path:"id"`
}

// paged selects a part of a list.
type paged struct {
	Cursor string `query:"cursor"`
	Limit  int    `query:"limit"`
}

// numbered selects a part of a list whose cursors are numbers.
type numbered struct {
	After string `query:"after"`
	Limit int    `query:"limit"`
}

// start returns After as a number. The document allows 1 to 18 digits.
func (n numbered) start() int64 {
	start, _ := strconv.ParseInt(n.After, 10, 64)
	return start
}

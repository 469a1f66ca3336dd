package http

import "strconv"

// This file has the parameters that several operations take.

// named is the execution, the approval, the rule or the webhook that a path names.
type named struct {
	ID string `path:"id"`
}

// paged is which part of a list is wanted.
type paged struct {
	Cursor string `query:"cursor"`
	Limit  int    `query:"limit"`
}

// numbered is which part of a list is wanted whose cursors are numbers.
type numbered struct {
	After string `query:"after"`
	Limit int    `query:"limit"`
}

// start is After as a number. The document allows 1 to 18 digits.
func (n numbered) start() int64 {
	start, _ := strconv.ParseInt(n.After, 10, 64)
	return start
}

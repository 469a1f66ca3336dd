package approvals

import (
	"encoding/json"
	"time"

	"signoff/internal/domain"
)

// Answer is a person's answer to an approval.
type Answer struct {
	Verb          domain.Verb // empty where Resolution says it all
	ArgumentsHash string      // of the call that the decider has seen
	Reason        string
	Arguments     json.RawMessage // in place of the shown ones; nil = as shown
	Remember      domain.RememberScope
	PreviewID     string            // which of the approval's options is remembered; empty = the narrowest
	RememberUntil *time.Time        // nil = as long as the scope lasts
	OptionID      string            // agentPermission: empty for the one that the decision means
	Answer        json.RawMessage   // question
	Resolution    domain.Resolution // unknownOutcome
	By            domain.Actor
	Channel       string // the way that it came, for the audit
	Unseen        bool   // the key may approve without naming the hash
	MayGlobal     bool   // the key may leave rules for all executions

	// StopTree, of a denial, is the root of the tree that it cancels; empty: none.
	StopTree domain.ExecutionID
}

func or(written, shown json.RawMessage) json.RawMessage {
	if written == nil {
		return shown
	}
	return written
}

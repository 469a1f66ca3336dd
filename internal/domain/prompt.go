package domain

import "time"

// PromptID is a UUID, version 7.
type PromptID string

// QueuedPrompt is a further prompt of an execution that waits for its turn. Started ones are in the log.
type QueuedPrompt struct {
	ID        PromptID
	Execution ExecutionID
	Text      string
	Parts     []PromptPart // nil: Text is all
	WhenBusy  WhenBusy
	Edit      *Edit             // nil: it is no edit
	Options   map[string]string // of an external agent, that are set before its turn and hold from then on
	By        Actor
	Created   time.Time
}

// WhenBusy says how a prompt is handled that arrives while a turn runs.
type WhenBusy string

const (
	WhenBusyEnqueue   WhenBusy = "enqueue"   // it waits for the end of the turn, and of those before it
	WhenBusyReject    WhenBusy = "reject"    // it is refused
	WhenBusyInterrupt WhenBusy = "interrupt" // the turn is cancelled, and it is the next
)

// ResumeMode says how an interrupted execution is resumed. Its [InterruptCause] decides which modes there are.
type ResumeMode string

const (
	ResumeLoad  ResumeMode = "load"  // the agent takes up its session where it was
	ResumeFresh ResumeMode = "fresh" // a new session of the agent gets the turn's prompt again
	ResumeRetry ResumeMode = "retry" // the request to the model that failed is repeated
	ResumeFail  ResumeMode = "fail"  // it does not: the execution has failed
)

// Known reports whether m is one of the modes.
func (m ResumeMode) Known() bool {
	return m == ResumeLoad || m == ResumeFresh || m == ResumeRetry || m == ResumeFail
}

// Known reports whether w is one of the ways.
func (w WhenBusy) Known() bool {
	return w == WhenBusyEnqueue || w == WhenBusyReject || w == WhenBusyInterrupt
}

// DebugMessage is one raw message of an agent's protocol.
type DebugMessage struct {
	N         int64 // 1, 2, 3 … within the execution; old ones are let go
	Time      time.Time
	Direction Direction
	Message   string // what is secret in it is masked; a long one is cut
	Bytes     int    // of the whole message
}

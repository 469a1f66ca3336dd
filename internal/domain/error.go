package domain

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code names an error for programs. Codes are part of the contract and never change their meaning; internal/http maps
// each to a status in one table.
type Code string

// Errors of a request.
const (
	CodeMalformed           Code = "malformed"           // not readable as what it should be
	CodeInvalid             Code = "invalid"             // readable, but the value is not allowed
	CodeUnknownModel        Code = "unknownModel"        // names a model that the registry does not have
	CodeUnknownAgent        Code = "unknownAgent"        // names an agent that the registry does not have
	CodeUnknownMCPServer    Code = "unknownMcpServer"    // names an MCP server that the registry does not have
	CodeUnknownProfile      Code = "unknownProfile"      // names an agent profile that is not there
	CodeNotResumable        Code = "notResumable"        // that agent session cannot be taken up
	CodeBusy                Code = "busy"                // a turn runs, and the prompt did not want to wait
	CodeClosed              Code = "closed"              // the execution takes no more prompts
	CodeNotInterrupted      Code = "notInterrupted"      // there is nothing to choose
	CodeUnauthenticated     Code = "unauthenticated"     // no key, or none that holds
	CodeForbidden           Code = "forbidden"           // the key lacks the scope
	CodeNotFound            Code = "notFound"            // unknown, or somebody else's: the answers are the same
	CodeConflict            Code = "conflict"            // contradicts the current state
	CodeAlreadyDecided      Code = "alreadyDecided"      // somebody else decided otherwise
	CodeArgumentsHash       Code = "argumentsHashDiffer" // what was approved is not what would run
	CodeHashRequired        Code = "argumentsHashRequired"
	CodeApprovalExpired     Code = "approvalExpired"
	CodeApprovalCancelled   Code = "approvalCancelled"
	CodeExecutionEnded      Code = "executionEnded"
	CodeIdempotencyMismatch Code = "idempotencyKeyReused" // same key, other body
	CodeCursorBeyondHead    Code = "cursorBeyondHead"
	CodeUnavailable         Code = "unavailable"            // shutting down, or without its database; another replica may not be
	CodeOverloaded          Code = "overloaded"             // all tenants together have too much under way
	CodeTooMany             Code = "tooMany"                // the tenant has too much under way
	CodeRateLimited         Code = "rateLimited"            // the same was asked for too often in a short time
	CodeDailyBudgetSpent    Code = "dailyBudgetSpent"       // the daily budget of the tenant is spent
	CodeStorage             Code = "storageFailed"          // the database does not answer
	CodeInternal            Code = "internal"               // a bug of ours; the message says nothing more
	CodeStale               Code = "stale"                  // written under an old epoch, or against a state that has moved on
	CodePayloadTooLarge     Code = "payloadTooLarge"        // the body is over the limit
	CodeUnsupportedMedia    Code = "unsupportedMedia"       // the body is not JSON
	CodeMethodNotAllowed    Code = "methodNotAllowed"       // the route exists, the method does not
	CodeMisdirected         Code = "misdirectedHost"        // the Host header names another site
	CodeForeignOrigin       Code = "foreignOrigin"          // a web page of another origin sent it
	CodeNotAcceptable       Code = "notAcceptable"          // no representation that the client accepts
	CodeCheckpointElsewhere Code = "checkpointElsewhere"    // another machine has the checkpoint
	CodePreviewOutdated     Code = "previewOutdated"        // a rollback or a fetch would no longer do what its preview has shown
	CodeNoCheckpoints       Code = "checkpointsUnavailable" // the server or the environment has no checkpoints
	CodeUnknownSecret       Code = "unknownSecret"          // names a secret that the registry does not have
	CodeRevisionRequired    Code = "revisionRequired"       // a change without the revision that it is made on
	CodeURITooLong          Code = "uriTooLong"             // the request line is over the limit
	CodeTemplate            Code = "templateFailed"         // a template cannot be rendered
	CodeFeatureDisabled     Code = "featureDisabled"        // the operator has switched it off
	CodeDocumentChanged     Code = "documentChanged"        // the runbook is not what the blocks were written for any more
	CodeNoGeneration        Code = "noGeneration"           // there are no blocks that wait for somebody, or not these
	CodeAlreadyAnswered     Code = "alreadyAnswered"        // the client gave another answer before
	CodeCallEnded           Code = "toolCallEnded"          // the call waits for nobody any more
)

// Errors that end an execution or a tool call.
const (
	CodeLimitReached           Code = "limitReached"           // the model's token limit, or maxIterations
	CodeRefused                Code = "refused"                // the model declined
	CodeContentFiltered        Code = "contentFiltered"        // the content filter of the model's provider stopped the request or its answer
	CodeTimedOut               Code = "timedOut"               // timeoutSeconds of active time are over
	CodeModelFailed            Code = "modelFailed"            // the provider answered with an error, also after retries
	CodeModelUnauthorized      Code = "modelUnauthorized"      // the provider does not accept the key
	CodeModelUnreachable       Code = "modelUnreachable"       // no connection to the provider
	CodeModelStreamBroken      Code = "modelStreamBroken"      // the stream ended without saying how
	CodeModelNotConfigured     Code = "modelNotConfigured"     // the key's environment variable is empty
	CodeRecoveryLimit          Code = "recoveryLimit"          // recovered again and again without progress
	CodeAgentFailed            Code = "agentFailed"            // the agent gave up for a reason without a code
	CodeAgentUnavailable       Code = "agentUnavailable"       // the agent's program is not there, or cannot be run
	CodeAgentUnauthorized      Code = "agentUnauthorized"      // the agent wants to be signed in first
	CodeAgentExited            Code = "agentExited"            // the agent's process ended in the middle of its work
	CodeAgentProtocol          Code = "agentProtocol"          // the agent does not speak the protocol as it should
	CodeAgentTimedOut          Code = "agentTimedOut"          // the agent did not start, or did not take what it was sent
	CodeInterrupted            Code = "interrupted"            // it was interrupted, and nobody chose to go on
	CodeUnknownTool            Code = "unknownTool"            // the model named a tool that does not exist
	CodeInvalidArguments       Code = "invalidArguments"       // the model's arguments do not fit the tool
	CodeDenied                 Code = "denied"                 // a person said no
	CodePolicyDenied           Code = "policyDenied"           // the capabilities say no
	CodeEnvironmentUnavailable Code = "environmentUnavailable" // this machine cannot build the environment
	CodeSandboxUnavailable     Code = "sandboxUnavailable"     // nothing can confine the command, so it is not run
	CodeNotStarted             Code = "notStarted"             // the command did not begin; nothing of it ran, and it may be tried again
	CodePathOutsideWorkspace   Code = "pathOutsideWorkspace"   // the path leaves the workspace
	CodeToolFailed             Code = "toolFailed"             // it ran, and failed
	CodeCancelled              Code = "cancelled"              // the execution was cancelled
	CodeSecretExposed          Code = "secretExposed"          // the arguments hold the value of a secret
	CodeDestinationBlocked     Code = "destinationBlocked"     // the address is private, or not among those that were granted
	CodeContextOverflow        Code = "contextOverflow"        // the conversation is longer than the model can read
	CodeOutcomeUnknown         Code = "outcomeUnknown"         // it may have run when the process died
	CodeOutputInvalid          Code = "outputInvalid"          // the final answer does not fit the outputSchema
	CodeGenerationFailed       Code = "generationFailed"       // the model handed in no blocks that can be used
	CodeQuotaExceeded          Code = "quotaExceeded"          // the provider's account has nothing left
	CodeClientTimedOut         Code = "clientTimedOut"         // the client did not answer the call in time
	CodeMCPServerUnavailable   Code = "mcpServerUnavailable"   // the MCP server cannot be started or reached
	CodeDefinitionChanged      Code = "definitionChanged"      // the MCP tool is not the one that was allowed; nothing was sent
	CodeClientFailed           Code = "clientFailed"           // the client could not do it
	CodeRollbackFailed         Code = "rollbackFailed"         // a rollback stopped before its end
	CodeCheckpointFailed       Code = "checkpointFailed"       // the checkpoint before the call failed, so the call did not run
)

// Error carries a code for programs, a sentence that is safe to show to anyone, and a cause for the log alone.
type Error struct {
	Code    Code
	Message string
	Details []Detail // which parts of the input are wrong; may be empty
	Cause   error    // never shown to a client

	RetryAfter time.Duration // when the same may succeed; 0: the error does not know
}

// Detail points at one wrong part of an input.
type Detail struct {
	Pointer string `json:"pointer"` // RFC 6901 JSON pointer into the body, or the parameter's name
	Message string `json:"message"`
}

// Errorf returns an [*Error] with a formatted, safe message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns a [CodeInvalid] error that points at one part of the input.
func Invalid(pointer, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{Code: CodeInvalid, Message: message, Details: []Detail{{Pointer: pointer, Message: message}}}
}

// InvalidParts returns a [CodeInvalid] error that lists the wrong parts of an input. The message of each goes on from the name of its part:
// "must not be empty".
func InvalidParts(parts ...Detail) *Error {
	message := "Some of the input is not allowed; see errors."
	if len(parts) == 1 {
		message = strings.TrimSpace(partName(parts[0].Pointer) + " " + parts[0].Message + ".")
	}
	return &Error{Code: CodeInvalid, Message: message, Details: parts}
}

// partName is the name of a part of the input in a sentence. A long name is not cut: half a secret would not be masked.
func partName(pointer string) string {
	if len(pointer) > 100 {
		return "A part of the input"
	}
	return strings.TrimPrefix(pointer, "/")
}

// At returns err pointing at a part of the input. An error that has no code, or points somewhere already, is returned as it is.
func At(pointer string, err error) error {
	var coded *Error
	if !errors.As(err, &coded) || len(coded.Details) > 0 {
		return err
	}
	located := *coded
	located.Details = []Detail{{Pointer: pointer, Message: coded.Message}}
	return &located
}

// Below returns err with its pointers below a part of the input.
func Below(pointer string, err error) error {
	return Repoint(err, func(inner string) string { return pointer + inner })
}

// Repoint returns err with its pointers moved. An error that has no code is returned as it is.
func Repoint(err error, move func(pointer string) string) error {
	var coded *Error
	if !errors.As(err, &coded) {
		return err
	}
	moved := *coded
	moved.Details = nil
	for _, d := range coded.Details {
		moved.Details = append(moved.Details, Detail{Pointer: move(d.Pointer), Message: d.Message})
	}
	return &moved
}

// NotResumable returns a [CodeNotResumable] error about the execution that a request wants to go on from.
func NotResumable(format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	return &Error{Code: CodeNotResumable, Message: message, Details: []Detail{{Pointer: "/resumeFrom", Message: message}}}
}

// Pointer writes a path into a document as RFC 6901 says.
func Pointer(steps ...string) string {
	var pointer strings.Builder
	for _, step := range steps {
		pointer.WriteString("/" + pointerEscapes.Replace(step))
	}
	return pointer.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// With returns e with its cause.
func (e *Error) With(cause error) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of err; an error without one is internal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// FailureOf returns err as it may be stored and shown. The text of an error without a code is withheld: it may hold
// anything, a connection string included.
func FailureOf(err error) Failure {
	var e *Error
	if errors.As(err, &e) {
		return Failure{Code: e.Code, Message: e.Message}
	}
	return Failure{Code: CodeInternal, Message: "Something went wrong inside Signoff; the server's log has the details."}
}

package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/coder/acp-go-sdk"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// readBytes bounds what is read at once.
const readBytes = 8 << 20

var errTooLarge = errors.New("too large")

type readArguments struct {
	Path  string `json:"path"`
	Line  *int64 `json:"line,omitempty"`  // the first one, from 1
	Limit *int64 `json:"limit,omitempty"` // how many
}

// readTextFile reads a file of the workspace for the agent, as a call that is judged like one of our own tools.
func (a *agent) readTextFile(ctx context.Context, request wire.Object, _ json.RawMessage) (any, error) {
	wanted := readArguments{Path: request.Text("path"), Line: request.Count("line"), Limit: request.Count("limit")}
	if wanted.Path == "" {
		return nil, invalid("The path is missing.")
	}
	host, c, grant, err := a.authorize(ctx, request, "readTextFile", domain.ClassRead, domain.Encode(wanted), "Read "+wanted.Path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(grant.Arguments, &wanted); err != nil {
		return nil, a.fail(c, domain.Errorf(domain.CodeInvalidArguments, "The arguments do not fit.").With(err))
	}
	text := ""
	err = host.ViewFile(ctx, wanted.Path, func(file fs.File) (err error) {
		text, err = readText(file, wanted)
		return err
	})
	if err != nil {
		return nil, a.fail(c, fileError(wanted.Path, err))
	}
	a.translator.settle(c, domain.ToolCallCompleted{Outcome: domain.OutcomeSucceeded, Output: text})
	return map[string]string{"content": text}, nil
}

// readText reads the wanted lines of a file.
func readText(file io.Reader, wanted readArguments) (string, error) {
	var text []byte
	lines := bufio.NewReaderSize(file, 64<<10)
	skip, left := int64(0), int64(-1)
	if wanted.Line != nil {
		skip = *wanted.Line - 1
	}
	if wanted.Limit != nil {
		left = *wanted.Limit
	}
	for left != 0 {
		piece, err := lines.ReadSlice('\n')
		if skip <= 0 {
			text = append(text, piece...)
		}
		if len(text) > readBytes {
			return "", errTooLarge
		}
		switch {
		case err == nil && skip > 0:
			skip--
		case err == nil:
			left--
		case errors.Is(err, io.EOF):
			return strings.ToValidUTF8(string(text), "\uFFFD"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

type writeArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// writeTextFile writes a file of the workspace for the agent. A file may well be empty.
func (a *agent) writeTextFile(ctx context.Context, request wire.Object, _ json.RawMessage) (any, error) {
	wanted := writeArguments{Path: request.Text("path"), Content: request.Text("content")}
	if wanted.Path == "" || !request.Has("content") {
		return nil, invalid("The path or the content is missing.")
	}
	summary := fmt.Sprintf("Write %d bytes to %s", len(wanted.Content), wanted.Path)
	host, c, grant, err := a.authorize(ctx, request, "writeTextFile", domain.ClassWrite, domain.Encode(wanted), summary)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(grant.Arguments, &wanted); err != nil {
		return nil, a.fail(c, domain.Errorf(domain.CodeInvalidArguments, "The arguments do not fit.").With(err))
	}
	if err := host.WriteFiles(ctx, domain.FileChange{Path: wanted.Path, Content: []byte(wanted.Content), ToolCallID: c.asHost().ID}); err != nil {
		return nil, a.fail(c, fileError(wanted.Path, err))
	}
	output := fmt.Sprintf("Wrote %d bytes.", len(wanted.Content))
	a.translator.settle(c, domain.ToolCallCompleted{Outcome: domain.OutcomeSucceeded, Output: output})
	return struct{}{}, nil
}

// authorize announces a call that is a request to us and has it judged. The error is for the agent; a call that was
// announced has its outcome then. The host is the one that the call was announced to, and runs it.
func (a *agent) authorize(
	ctx context.Context, request wire.Object, tool string, class domain.Class, arguments json.RawMessage, summary string,
) (domain.Host, *toolCall, domain.Grant, error) {
	if a.holdsSecret(arguments) || a.holdsSecret([]byte(summary)) {
		return nil, nil, domain.Grant{}, a.refuseSecret(tool, summary)
	}
	c, host := a.translator.own(a.shownID(request.Text("sessionId")), tool, class, arguments, summary)
	grant, err := host.Authorize(ctx, c.asHost())
	switch {
	case err != nil: // the session is over, or the request is; the session tells the outcome
		return nil, nil, domain.Grant{}, cancelledRequest(err)
	case !grant.Allowed:
		a.translator.answered(c, domain.ApprovalDenied)
		return nil, nil, domain.Grant{}, &acp.RequestError{Code: errorInternal, Message: wire.Beginning(grant.Message, failureBytes)}
	}
	a.translator.answered(c, domain.ApprovalApproved)
	return host, c, grant, nil
}

// cancelledRequest is the answer to a request that is not judged any more.
func cancelledRequest(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, errTurnCancelled) || errors.Is(err, wire.ErrWithdrawn) {
		return acp.NewRequestCancelled(nil)
	}
	return &acp.RequestError{Code: errorInternal, Message: "Nobody can decide about this now."}
}

// fail reports the outcome of a call that failed, and returns the error for the agent.
func (a *agent) fail(c *toolCall, err error) *acp.RequestError {
	var coded *domain.Error
	if !errors.As(err, &coded) {
		coded = domain.Errorf(domain.CodeToolFailed, "It failed.").With(err) // the text may name what lies outside
	}
	failure := domain.FailureOf(coded)
	a.translator.settle(c, domain.ToolCallCompleted{Outcome: domain.OutcomeFailed, Output: failure.Message, Error: &failure})
	code := errorInternal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = errorNotFound
	case failure.Code == domain.CodePathOutsideWorkspace || failure.Code == domain.CodeInvalidArguments:
		code = -32602
	}
	return &acp.RequestError{Code: code, Message: failure.Message}
}

// fileError says in plain words what is wrong with a file. Agents show the message to their model, and some look for
// the words "not found" in it.
func fileError(path string, err error) error {
	shown := wire.Beginning(path, 500)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return domain.Errorf(domain.CodeToolFailed, "Resource not found: %s", shown).With(err)
	case errors.Is(err, errTooLarge):
		return domain.Errorf(domain.CodeToolFailed, "%s has more than 8 MiB; read a part of it by line and limit.", shown)
	default:
		return err
	}
}

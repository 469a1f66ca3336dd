package tools

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"

	"signoff/internal/domain"
)

// Tool is one thing that the internal agent can do. What a tool knows never changes: its methods may be called at once from
// several goroutines, also for several executions.
type Tool interface {
	// Definition returns the model's view of the tool, and its class.
	Definition() Definition

	// Check reads the arguments and describes the call; dir is the working directory. Broken arguments are a
	// [*domain.Error] with [domain.CodeInvalidArguments], whose message helps the model to mend them. So are fields that
	// the tool does not know: a person would approve a restriction that nobody keeps.
	Check(arguments json.RawMessage, dir string) (Intent, error)

	// Run does it, with call.Arguments, which a decider may have edited since Check. It blocks until the work
	// is over or ctx ends, whichever is first. What went wrong is in the result.
	Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result
}

// Asker is a tool whose work is a person's answer. The agent's loop puts Form to a person with [domain.Host.Ask] and
// gives the model what Answered makes of the answer; Run only says so, because a tool cannot wait for a person itself.
type Asker interface {
	Tool

	// Form is the question to the person: {message, schema}, where schema is the JSON Schema of an object. Broken
	// arguments are the same errors as those of Check.
	Form(arguments json.RawMessage) (form json.RawMessage, err error)

	// Answered returns the model's result for the person's answer. The answer fits the schema of the form.
	Answered(arguments, answer json.RawMessage) Result
}

// Continuer is a tool whose calls may stop at a question to a person, and go on in another process.
type Continuer interface {
	Tool

	// Continue goes on with a call that has asked, when the answer is there. Otherwise it is Run.
	Continue(ctx context.Context, host domain.Host, call domain.ToolCall, from domain.Continuation) Result
}

// Definition is the name of a tool, its class, and its text for the model.
type Definition struct {
	Name        string
	Version     string // part of the approved hash: raise it when the same arguments get another meaning
	Class       domain.Class
	Description string
	Schema      json.RawMessage // a JSON Schema object
}

// Intent is the effect of a call with certain arguments.
type Intent struct {
	Summary string        // in a sentence, for a person
	Action  domain.Action // in the terms of the policy

	MCP *domain.MCPTool // whose tool it is, of a tool of an MCP server; nil for all others
}

// Result is the result of a run.
type Result struct {
	Output      string              // for people, and for the model where ModelOutput is empty
	ModelOutput string              // for the model alone, where it gets other words: how to read the text that it does not get
	Truncated   bool                // Output leaves something out, and says so
	ExitCode    *int                // of a command that came to its own end
	Failure     *domain.Failure     // with [domain.CodeOutcomeUnknown], nobody knows whether it ran
	Files       []domain.PromptPart // pictures, which the host keeps
}

// absolute is a path of the arguments as policy judges it. The host, not this, holds it inside the workspace.
func absolute(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// failed is the result for err, after whatever output there was. For a tool, an error without a code is a failed run and not a
// bug of the server; its text is withheld all the same, because it may name paths outside of the workspace.
func failed(output string, err error) Result {
	failure := domain.Failure{Code: domain.CodeToolFailed, Message: "The tool could not do its work."}
	var coded *domain.Error
	if errors.As(err, &coded) {
		failure = domain.FailureOf(coded)
	}
	return Result{Output: joinLines(output, failure.Message), Failure: &failure}
}

// joinLines puts note on a line of its own after text.
func joinLines(text, note string) string {
	switch {
	case text == "":
		return note
	case text[len(text)-1] == '\n':
		return text + note
	default:
		return text + "\n" + note
	}
}

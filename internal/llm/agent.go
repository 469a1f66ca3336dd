package llm

import (
	"log/slog"
	"time"

	"signoff/internal/domain"
)

// defaultIterations stands where a request names no limit: a loop without an end is never what somebody wants.
const defaultIterations = 50

// agent answers the prompts of one execution; see prompt.go.
type agent struct {
	execution domain.Execution
	tools     *toolset
	mask      mask
	logger    *slog.Logger
	retry     time.Duration // how long a request that fails is repeated, and
	patience  time.Duration // where another model may be asked

	// What follows belongs to Prompt, of which there is one at a time.
	models       lineup
	account      account
	conversation conversation
	schemaless   map[string]bool // models that have refused the outputSchema
}

// Introduction implements [domain.Agent]. The model stands in the execution's source.
func (a *agent) Introduction() domain.Introduction { return domain.Introduction{} }

// Close implements [domain.Agent]. Nothing is held between two prompts.
func (a *agent) Close() error { return nil }

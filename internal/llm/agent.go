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
	tools     *toolset // with MCP servers, those of the present request
	mask      mask
	logger    *slog.Logger
	retry     time.Duration // how long a request that fails is repeated, and
	patience  time.Duration // where another model may be asked

	// What follows belongs to Prompt, of which there is one at a time.
	models       lineup
	account      account
	conversation conversation
	schemaless   map[string]bool // models that have refused the outputSchema
	limits       limits          // of the models
	servers      *servers        // nil: it uses none
}

// Introduction implements [domain.Agent]. The model stands in the execution's source.
func (a *agent) Introduction() domain.Introduction { return domain.Introduction{} }

var _ domain.Parkable = (*agent)(nil)

// Parkable implements [domain.Parkable]. Only MCP servers are held between two prompts.
func (a *agent) Parkable() bool { return !a.servers.keepRunning() }

// Close implements [domain.Agent].
func (a *agent) Close() error { return a.servers.close() }

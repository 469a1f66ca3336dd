package admission

import (
	"cmp"

	"signoff/internal/domain"
)

// Settings holds the operator's defaults, and the available block types and shells.
type Settings struct {
	TimeoutSeconds         *int                  // nil: 300; 0: none
	ApprovalTimeoutSeconds *int                  // nil: 3600; 0: no limit
	RetryForSeconds        *int                  // nil: 3600; 0: no retries
	Checkpoints            domain.CheckpointMode // empty: bestEffort
	Capabilities           *domain.Capabilities  // nil: [domain.DefaultCapabilities]
	Shell                  string                // empty: unknown
	BlockTypes             []domain.BlockType
	RunbookModels          []RunbookModel // each of its runbooks once
	BlockGenerationOff     bool
}

const (
	defaultTimeout         = 300
	defaultApprovalTimeout = 3600
	defaultRetryFor        = 3600
)

// withDefaults replaces zero values by the defaults.
func (d Settings) withDefaults() Settings {
	d.TimeoutSeconds = cmp.Or(d.TimeoutSeconds, new(defaultTimeout))
	d.ApprovalTimeoutSeconds = cmp.Or(d.ApprovalTimeoutSeconds, new(defaultApprovalTimeout))
	d.RetryForSeconds = cmp.Or(d.RetryForSeconds, new(defaultRetryFor))
	d.Checkpoints = cmp.Or(d.Checkpoints, domain.CheckpointsBestEffort)
	if d.Capabilities == nil {
		d.Capabilities = &domain.DefaultCapabilities
	}
	return d
}

package admission

import (
	"cmp"

	"signoff/internal/domain"
)

// Settings is what the operator has set for requests: what holds where they say nothing, and what there is for them.
type Settings struct {
	TimeoutSeconds         *int                 // nil: 300; 0: none
	ApprovalTimeoutSeconds *int                 // nil: 3600; 0: for ever
	RetryForSeconds        *int                 // nil: 3600; 0: nothing is repeated
	Capabilities           *domain.Capabilities // nil: [domain.DefaultCapabilities]
	Shell                  string               // empty: unknown
	BlockTypes             []domain.BlockType
	BlockGenerationOff     bool
}

const (
	defaultTimeout         = 300
	defaultApprovalTimeout = 3600
	defaultRetryFor        = 3600
)

// filled has the defaults in the place of zero values.
func (d Settings) filled() Settings {
	d.TimeoutSeconds = cmp.Or(d.TimeoutSeconds, new(defaultTimeout))
	d.ApprovalTimeoutSeconds = cmp.Or(d.ApprovalTimeoutSeconds, new(defaultApprovalTimeout))
	d.RetryForSeconds = cmp.Or(d.RetryForSeconds, new(defaultRetryFor))
	if d.Capabilities == nil {
		d.Capabilities = &domain.DefaultCapabilities
	}
	return d
}

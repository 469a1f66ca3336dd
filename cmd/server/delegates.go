package main

import (
	"signoff/internal/admission"
	"signoff/internal/llm"
)

// delegates admits the children of executions. Its admission is set after the models are opened, because it needs them, and before the first execution is driven.
type delegates struct{ *admission.Admission }

var _ llm.Delegates = (*delegates)(nil)

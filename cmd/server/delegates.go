package main

import (
	"signoff/internal/admission"
	"signoff/internal/llm"
)

// delegates admits the children of executions. The models are opened before there is an admission, which needs them; the first execution is driven after.
type delegates struct{ *admission.Admission }

var _ llm.Delegates = (*delegates)(nil)

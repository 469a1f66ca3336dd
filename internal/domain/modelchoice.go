package domain

// ModelChoice is the model that an execution was created with, and why it is that one. The names are kept because the entry of the registry may be
// changed later, or be gone.
type ModelChoice struct {
	Name     string    `json:"name"` // of the entry in the registry
	Provider string    `json:"provider"`
	Model    string    `json:"model,omitempty"` // the provider's name for it; empty: it has none
	From     ModelFrom `json:"from"`
}

// ModelFrom is where the name of a model was found. The first of them that names one decides.
type ModelFrom string

const (
	ModelFromRequest ModelFrom = "request"
	ModelFromBlock   ModelFrom = "block"   // the agent block of a runbook
	ModelFromProfile ModelFrom = "profile" // the agent profile
	ModelFromRunbook ModelFrom = "runbook" // the operator's entry for the runbook
	ModelFromDefault ModelFrom = "default" // of the server
)

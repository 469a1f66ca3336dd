package admission

import (
	"strings"

	"signoff/internal/domain"
)

// RunbookModel is the operator's choice for the executions of a runbook, or of several.
type RunbookModel struct {
	Runbook   string // an id; with * at its end, all ids with that prefix
	Model     string
	Fallbacks []string // of requests that name none
}

// chooseModel fills in the model of a request that names none, and says where the name was found. It is resolved once, here: the execution keeps its
// model although another one becomes the default later.
func (a *Admission) chooseModel(request *domain.Request) domain.ModelFrom {
	source := &request.Source
	entry, found := a.config.Settings.modelOf(request.RunbookID)
	switch {
	case source.Model != "" && request.Block != nil:
		return domain.ModelFromBlock
	case source.Model != "":
		return domain.ModelFromRequest
	case found:
		source.Model = entry.Model
		if source.Fallbacks == nil { // an empty list is a choice
			source.Fallbacks = entry.Fallbacks
		}
		return domain.ModelFromRunbook
	default:
		source.Model = a.config.Models.Default()
		return domain.ModelFromDefault
	}
}

// modelOf finds the entry of a runbook: the one with its whole id, or else the one with the longest prefix of it.
func (d Settings) modelOf(runbook string) (best RunbookModel, found bool) {
	if runbook == "" {
		return best, false
	}
	for _, entry := range d.RunbookModels {
		if entry.Runbook == runbook {
			return entry, true
		}
		begin, several := strings.CutSuffix(entry.Runbook, "*")
		if several && strings.HasPrefix(runbook, begin) && len(entry.Runbook) > len(best.Runbook) {
			best, found = entry, true
		}
	}
	return best, found
}

package llm

import (
	"context"
	"slices"
	"sync"

	"signoff/internal/domain"
)

// ModelInfo is what may be shown of a model. It has neither key nor address.
type ModelInfo struct {
	Name      string
	Provider  string
	Model     string
	Default   bool
	Available bool
	Reason    string // why it is not available

	Settings        []string        // that a request may set
	Efforts         []domain.Effort // that it may ask for, if it may set the effort
	MaxOutputTokens int             // that it may ask for at most; 0 = no limit of the operator
}

// Models lists the models and whether each could be used now. Providers are asked at most every 30 seconds and
// answer within two, so this may be called for every page view.
func (r *Registry) Models(ctx context.Context) []ModelInfo {
	names := r.Names()
	infos := make([]ModelInfo, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		c := r.candidates[name]
		infos[i] = ModelInfo{Name: name, Provider: c.model.Provider, Model: c.model.Model, Default: name == r.config.Default,
			Settings: c.takes(), MaxOutputTokens: c.model.MaxOutputTokens}
		if slices.Contains(infos[i].Settings, domain.SettingEffort) {
			infos[i].Efforts = c.efforts()
		}
		asking.Go(func() {
			infos[i].Reason = r.probes[name].reason(ctx)
			infos[i].Available = infos[i].Reason == ""
		})
	}
	asking.Wait()
	return infos
}

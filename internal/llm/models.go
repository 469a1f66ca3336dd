package llm

import (
	"context"
	"sync"
)

// ModelInfo is what may be shown of a model. It has neither key nor address.
type ModelInfo struct {
	Name      string
	Provider  string
	Model     string
	Default   bool
	Available bool
	Reason    string // why it is not available
}

// Models lists the models and whether each could be used now. Providers are asked at most every 30 seconds and
// answer within two, so this may be called for every page view.
func (r *Registry) Models(ctx context.Context) []ModelInfo {
	names := r.Names()
	infos := make([]ModelInfo, len(names))
	var asking sync.WaitGroup
	for i, name := range names {
		model := r.candidates[name].model
		infos[i] = ModelInfo{Name: name, Provider: model.Provider, Model: model.Model, Default: name == r.config.Default}
		asking.Go(func() {
			infos[i].Reason = r.probes[name].reason(ctx)
			infos[i].Available = infos[i].Reason == ""
		})
	}
	asking.Wait()
	return infos
}

package admission

import "signoff/internal/domain"

// requireCheckpoints refuses a request that requires checkpoints if the server or the environment has none. The environment of the request is set.
func (a *Admission) requireCheckpoints(request *domain.Request) error {
	if request.Checkpoints != domain.CheckpointsRequired {
		return nil
	}
	request.Requires = max(request.Requires, domain.RequiresCheckpoints)
	why := a.config.NoCheckpoints
	if why == "" && request.Source.Type == domain.SourceInternal {
		environment, err := a.config.Environments.Choose(request.Environment)
		if err != nil {
			return err
		}
		if environment.View == domain.ViewHost {
			why = "Commands of the environment " + environment.Name + " run on the host without isolation, and may write anywhere."
		}
	}
	if why == "" {
		return nil
	}
	return domain.At("/checkpoints", domain.Errorf(domain.CodeNoCheckpoints, "%s", why))
}

// orNoMode returns the mode of a parent for its child. A parent without a mode is older than checkpoints, and takes none.
func orNoMode(mode domain.CheckpointMode) *domain.CheckpointMode {
	if mode == "" {
		mode = domain.CheckpointsOff
	}
	return &mode
}

package admission

import (
	"cmp"
	"context"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// environmentChoice is what a request says about its environment. An execution that continues the agent session of another one works where that has
// worked, unless the request or the operator says otherwise: the agent remembers folders that it could not find elsewhere.
func (a *Admission) environmentChoice(ctx context.Context, by keys.Principal, source domain.Source, body api.CreateExecution) (domain.EnvironmentChoice, error) {
	resumed := api.Or(body.ResumeFrom, "")
	if body.Environment != nil || resumed == "" || source.Type != domain.SourceACP {
		return api.Or(body.Environment, domain.EnvironmentChoice{}), nil
	}
	reading, cancel := domain.WithCreationTime(ctx, domain.CreationTime)
	defer cancel()
	earlier, err := a.config.Executions.Execution(reading, by.Tenant, domain.ExecutionID(resumed))
	if domain.CodeOf(err) == domain.CodeNotFound { // the sessions refuse it, as any other that cannot be resumed
		return domain.EnvironmentChoice{}, nil
	}
	own := a.config.Agents.Environment(source.Command)
	if own != "" && own != earlier.Request.Environment.Name { // the operator has put the agent elsewhere since
		return domain.EnvironmentChoice{}, err
	}
	return earlier.Request.Environment, err
}

// environmentFor is the environment of a source that names none: an agent that the operator has put into one runs there, and no request can choose
// another for it.
func (a *Admission) environmentFor(source domain.Source, choice domain.EnvironmentChoice) (string, error) {
	if source.Type != domain.SourceACP {
		return a.config.Environments.Default(), nil
	}
	own := a.config.Agents.Environment(source.Command)
	if own != "" && choice.Name != "" && choice.Name != own {
		return "", domain.Invalid("/environment", "The agent %s runs in the environment %s; a request can narrow it and not choose another.", source.Command, own)
	}
	return cmp.Or(own, a.config.Environments.Default()), nil
}

// mayUse refuses a key without the scope that another environment than the default one takes: it may show the whole machine. Whoever may use an agent
// may use it in its own.
func (a *Admission) mayUse(by keys.Principal, source domain.Source, choice domain.EnvironmentChoice) error {
	byDefault, err := a.environmentFor(source, choice)
	if err != nil || choice.Name == "" || choice.Name == byDefault || by.May(keys.EnvironmentsUse) {
		return err
	}
	return domain.At("/environment", domain.Errorf(domain.CodeForbidden, "The environment %q takes a key with the scope %s.", choice.Name, keys.EnvironmentsUse))
}

// setEnvironment resolves the choice of a request.
func (a *Admission) setEnvironment(request *domain.Request, choice domain.EnvironmentChoice) error {
	byDefault, err := a.environmentFor(request.Source, choice)
	if err != nil {
		return err
	}
	choice.Name = cmp.Or(choice.Name, byDefault)
	chosen, err := a.config.Environments.Choose(choice)
	if err != nil {
		return err
	}
	choice.Digest = chosen.Digest()
	request.Environment = choice
	return nil
}

// place resolves the working directory of a request whose environment is set. The mounts that the environment may write can be working directories, too, and so
// can the own folders in which the request may work.
func (a *Admission) place(request *domain.Request, directory string, own ...string) error {
	environment, err := a.config.Environments.Choose(request.Environment)
	if err != nil {
		return err
	}
	resolved, err := a.config.Workspace.Resolve(directory, append(a.config.Environments.Directories(request.Environment), own...)...)
	if err != nil {
		return domain.At("/workingDirectory", err)
	}
	request.WorkingDirectory = resolved
	inDefault := a.config.Workspace.InDefault(resolved)
	if !inDefault || !environment.Plain() {
		request.Requires = max(request.Requires, domain.RequiresEnvironments)
	}
	if inDefault {
		return nil // checked when the server started
	}
	return a.config.Environments.Offers(environment, resolved)
}

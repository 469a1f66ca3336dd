package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// Folders prepares the own folders of executions. It does not make them: that may take minutes, and the execution may have to wait before it starts.
type Folders interface {
	// Base returns the folder in which own folders lie.
	Base() string
	// Repository finds the git repository of a folder. All parts of the repository must be in sight. The errors point at /workingDirectory.
	Repository(ctx context.Context, folder string, inSight func(path string) bool) (domain.Repository, error)
}

// workspace refuses fields that contradict an own folder.
func (f *fieldErrors) workspace(body api.CreateExecution) {
	wanted := api.Or(body.Workspace, api.Workspace{})
	mode := api.Or(wanted.Mode, domain.WorkspaceShared)
	if mode == domain.WorkspaceShared {
		if !api.Or(wanted.Keep, true) {
			f.add("/workspace/keep", "belongs to the modes new, worktree and copy: a shared folder is never removed")
		}
		return
	}
	if body.ResumeFrom != nil {
		f.add("/workspace", "must not come together with resumeFrom: the agent continues in the folder in which it has worked")
	}
	if mode == domain.WorkspaceNew && body.WorkingDirectory != nil {
		f.add("/workingDirectory", "must not come together with the workspace new, which is an empty folder")
	}
}

// resumed returns the request of the execution whose agent session a body continues; nil: the body continues none, or the execution does not exist, which the
// sessions refuse.
func (a *Admission) resumed(ctx context.Context, by keys.Principal, body api.CreateExecution) (*domain.Request, error) {
	id := api.Or(body.ResumeFrom, "")
	if id == "" {
		return nil, nil //nolint:nilnil // the ordinary case
	}
	reading, cancel := domain.WithCreationTime(ctx, domain.CreationTime)
	defer cancel()
	earlier, err := a.config.Executions.Execution(reading, by.Tenant, domain.ExecutionID(id))
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil, nil //nolint:nilnil // as above
	}
	return &earlier.Request, err
}

// worksBeside places a request in the folder of another one: of the parent, or of the execution whose agent session it continues. No other request may name that
// own folder.
func (a *Admission) worksBeside(request *domain.Request, other *domain.Request, directory *string) (string, []string) {
	if other == nil {
		return api.Or(directory, ""), nil
	}
	wanted := api.Or(directory, other.WorkingDirectory)
	if wanted != other.WorkingDirectory || other.Requires < domain.RequiresOwnFolder {
		return api.Or(directory, ""), nil
	}
	request.Clone = other.Clone
	request.Requires = max(request.Requires, domain.RequiresOwnFolder)
	return wanted, []string{other.WorkingDirectory}
}

// setOwnFolder prepares the own folder of a request that is placed.
func (a *Admission) setOwnFolder(ctx context.Context, request *domain.Request, wanted api.Workspace) error {
	mode := api.Or(wanted.Mode, domain.WorkspaceShared)
	if mode == domain.WorkspaceShared {
		return nil
	}
	if err := a.offersOwnFolder(*request); err != nil {
		return domain.At("/workspace", err)
	}
	request.OwnFolder = &domain.OwnFolder{Mode: mode, Keep: api.Or(wanted.Keep, true)}
	request.Requires = max(request.Requires, domain.RequiresOwnFolder)
	if mode == domain.WorkspaceNew {
		request.WorkingDirectory = a.config.Folders.Base() // until the execution has an id
		return nil
	}
	return a.setSource(ctx, request)
}

// setSource sets the folder to copy or to clone. The server reads files of the prompt there.
func (a *Admission) setSource(ctx context.Context, request *domain.Request) error {
	own := request.OwnFolder
	own.From = request.WorkingDirectory
	root := a.config.Workspace.RootOf(own.From)
	if root == "" {
		return domain.Invalid("/workingDirectory", "Only a folder of a workspace is copied or cloned, and this one lies in a mount.")
	}
	environment, err := a.config.Environments.Choose(request.Environment)
	if err != nil {
		return err
	}
	if own.Mode == domain.WorkspaceCopy {
		own.Without = append(own.Without, environment.Hidden...)
		return nil
	}
	repository, err := a.config.Folders.Repository(ctx, own.From, func(path string) bool {
		return a.config.Workspace.RootOf(path) == root && !slices.ContainsFunc(environment.Hidden, func(hidden string) bool { return lies(path, hidden) })
	})
	if err != nil {
		return err
	}
	own.Repository = &repository
	request.Warnings = append(request.Warnings, domain.Detail{Pointer: "/workspace", Message: fmt.Sprintf(
		"The clone begins at the commit %s. Changes in %s that are not committed are not in it.", repository.Commit, repository.WorkTree)})
	return nil
}

// lies reports whether a path is folder or lies in it; both are absolute and clean.
func lies(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// offersOwnFolder returns an error if commands of the environment cannot work in an own folder: the user of another environment cannot enter the data folder.
func (a *Admission) offersOwnFolder(request domain.Request) error {
	if request.Source.Type == domain.SourceACP && a.config.Agents.Environment(request.Source.Command) == "" {
		return nil // it runs as the server's user
	}
	environment, err := a.config.Environments.Choose(request.Environment)
	if err != nil {
		return err
	}
	if environment.View == domain.ViewHost && !environment.AsServer {
		return domain.Errorf(domain.CodeEnvironmentUnavailable,
			"Commands of the environment %s run without isolation as %s, who cannot enter the folder in which this server makes own folders.", environment.Name, environment.User)
	}
	return a.config.Environments.Offers(environment, a.config.Folders.Base())
}

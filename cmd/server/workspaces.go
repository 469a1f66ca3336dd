package main

import (
	"cmp"
	"errors"
	"maps"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/workspace"
)

// openWorkspace checks the folders in which executions work. The variable of the default one wins over the file: the file may be shared by machines
// that differ in it.
func (f configFile) openWorkspace(config Config) (*workspace.Workspace, error) {
	folders := maps.Clone(f.Workspaces)
	if folders == nil {
		folders = map[string]string{}
	}
	folders[workspace.DefaultRoot] = cmp.Or(config.WorkspaceRoot, f.Workspaces[workspace.DefaultRoot], ".")
	protected := config.sandboxConfig(nil)
	files, err := workspace.NewRoots(folders, protected.Hidden...)
	if err != nil {
		if pointsAtDefault(err) && (config.WorkspaceRoot != "" || f.Workspaces[workspace.DefaultRoot] == "") {
			return nil, usagef("SIGNOFF_WORKSPACE_ROOT: %s", domain.FailureOf(err).Message)
		}
		return nil, f.mistake(err)
	}
	for _, root := range files.Roots() {
		if root.Name == workspace.DefaultRoot {
			continue // commands are refused in a folder of the system, and files are read there
		}
		if err := sandbox.CheckWorkspace(root.Path); err != nil {
			return nil, f.mistake(domain.Invalid(domain.Pointer("workspaces", root.Name), "%s", domain.FailureOf(err).Message))
		}
	}
	files.Guard(workspace.Guards{Files: protected.ReadOnly, Names: sandbox.Trusted(), Git: sandbox.GitParts()})
	return files, nil
}

// pointsAtDefault reports whether an error is about the default folder, which need not stand in the file.
func pointsAtDefault(err error) bool {
	var coded *domain.Error
	return errors.As(err, &coded) && len(coded.Details) > 0 && coded.Details[0].Pointer == domain.Pointer("workspaces", workspace.DefaultRoot)
}

package program

import (
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/secrets"
)

// ownFolder is the folder inside in which a program starts: empty, its own, and gone with it. In a workspace, npx and python would first look there for
// what they run.
const ownFolder = "/tmp"

// environment is the one that the program runs in, before its own mounts.
func (p *Programs) environment(server mcp.Server, use mcp.Use) (domain.Environment, error) {
	seen := use.Environment
	switch {
	case server.Environment != "":
		e, err := p.config.Environments.Choose(domain.EnvironmentChoice{Name: server.Environment})
		if err == nil && e.Isolated() {
			e.ReadOnly = seen.ReadOnly // of the workspace, which is the execution's
		}
		return e, err
	case seen.Name == "": // the execution is older than environments, and sees the workspace alone
		return domain.Environment{Name: string(domain.ViewWorkspace), View: domain.ViewWorkspace, Processes: domain.ProcessesOwn}, nil
	case seen.View == "":
		return seen, domain.Errorf(domain.CodeEnvironmentUnavailable, "The environment %s of the execution cannot be had.", seen.Name)
	default:
		return seen, nil
	}
}

// keepsSecrets refuses a program with secrets where the commands of the execution run without isolation, as the same user or as the server's own: they
// could read its variables from /proc.
func keepsSecrets(server mcp.Server, runs, seen domain.Environment) error {
	if seen.View != domain.ViewHost || !seen.AsServer && (runs.View != domain.ViewHost || runs.User != seen.User) || !holdsSecrets(server) {
		return nil
	}
	who := "the user " + seen.User
	if seen.AsServer {
		who = "the server's own user"
	}
	return domain.Errorf(domain.CodeEnvironmentUnavailable, "In the environment %s of the execution, commands run without isolation as %s, who could read the "+
		"secrets of the program.", seen.Name, who)
}

func holdsSecrets(server mcp.Server) bool {
	names := slices.Clone(server.Env)
	for name := range server.SetEnv {
		names = append(names, name)
	}
	return len(server.SecretEnv) > 0 || slices.ContainsFunc(names, secrets.Suspect)
}

// merged are the mounts of an environment, and on top those of the entry. The entry's word counts for a path that both have.
func merged(shown, own []domain.Mount, folders []string) []domain.Mount {
	all := slices.Clone(own)
	add := func(mount domain.Mount) {
		if !slices.ContainsFunc(all, func(m domain.Mount) bool { return m.Path == mount.Path }) {
			all = append(all, mount)
		}
	}
	for _, mount := range shown {
		add(mount)
	}
	for _, folder := range folders {
		add(domain.Mount{Path: folder, Access: domain.AccessRead})
	}
	slices.SortFunc(all, func(a, b domain.Mount) int { return strings.Compare(a.Path, b.Path) })
	return all
}

// unmountable are folders that a program has of its own, or that are the kernel's.
var unmountable = []string{"/", "/tmp", "/var/tmp", "/run", "/var/run"}

// unseen are the folders that the environment does not show.
func (p *Programs) unseen(e domain.Environment, directory string, folders []string) (missing []string) {
	for _, folder := range folders {
		kernels := slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, func(kernel string) bool { return within(kernel, folder) })
		if !kernels && !slices.Contains(unmountable, folder) && !p.sees(e, directory, folder) {
			missing = append(missing, folder)
		}
	}
	return missing
}

// sees reports whether a program in the environment finds a path, by this name.
func (p *Programs) sees(e domain.Environment, directory, path string) bool {
	return within(directory, launch.Real(path)) && within(directory, path) || p.config.Sandbox.Shows(e, path)
}

// named is an argument as it has to be inside: a path that only a link leads to, which is not there, is replaced by where the link leads.
func (p *Programs) named(e domain.Environment, directory, argument string) string {
	before, path := pathOf(argument)
	if path == "" || p.sees(e, directory, path) {
		return argument
	}
	return before + launch.Real(path)
}

// within reports whether path is folder or lies below it.
func within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}

package registry

import (
	"path/filepath"
	"slices"
	"strings"
)

// launchers are programs that run another one, which their arguments name. Its arguments, and whether it asks for permission,
// stand in a command line of theirs, in a package, in an image or on another machine: nobody can judge it here.
var launchers = []string{
	// shells
	"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "pwsh", "powershell", "cmd", "nu",
	// what runs a program in another environment, folder, user, machine or container
	"env", "nohup", "setsid", "nice", "ionice", "chrt", "taskset", "timeout", "stdbuf", "unbuffer", "script", "xargs", "time", "watch",
	"sudo", "doas", "su", "runuser", "setpriv", "chroot", "unshare", "nsenter", "systemd-run", "bwrap", "firejail", "strace", "ltrace",
	"tini", "dumb-init", "ssh", "docker", "podman", "nerdctl", "kubectl", "flatpak", "snap", "direnv", "mise", "asdf", "nix", "nix-shell",
	// what downloads a program, or runs one of a project
	"npx", "npm", "pnpm", "pnpx", "yarn", "bun", "bunx", "corepack", "deno", "uv", "uvx", "pipx", "poetry", "go", "cargo", "make", "just",
}

// interpreters run the script that is their first argument, which is the agent's program then. Behind a flag of their own, such
// as -c or -m, they are launchers.
var interpreters = []string{"node", "python", "ruby", "perl", "php"}

// launches tells whether the command runs a program that is not known here.
func launches(command string, args []string) bool {
	name := programName(command)
	return slices.Contains(launchers, name) || interprets(command) && (len(args) == 0 || strings.HasPrefix(args[0], "-"))
}

func interprets(command string) bool { return slices.Contains(interpreters, programName(command)) }

// programOf is the name of the program that a command line runs: of the script, where an interpreter runs one.
func programOf(argv []string) string {
	if len(argv) > 1 && interprets(argv[0]) {
		return programName(argv[1])
	}
	return programName(argv[0])
}

// programName is a program without its folder, its ending and the version of it: python3.12 is python.
func programName(path string) string {
	name := strings.ToLower(filepath.Base(path))
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".js"), ".exe")
	return strings.TrimRight(name, "0123456789.-")
}

package approvals

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// begins reports whether words match a pattern, word for word.
func begins(pattern string, words []string) bool {
	text, open := strings.CutSuffix(pattern, " *")
	wanted := strings.Fields(text)
	if len(words) < len(wanted) || (!open && len(words) != len(wanted)) {
		return false
	}
	return slices.Equal(words[:len(wanted)], wanted)
}

// isRestricted returns how far a denying or asking pattern covers these words. There /bin/rm is rm, and in
// git -C elsewhere push there may be a git push: which of the words between are options only git knows.
func isRestricted(pattern string, words []string) fit {
	if len(words) == 0 {
		return apart
	}
	name, rest, _ := strings.Cut(pattern, " ")
	pattern = strings.TrimSpace(filepath.Base(name) + " " + rest)
	words = append([]string{filepath.Base(words[0])}, words[1:]...)
	switch {
	case begins(pattern, words):
		return certain
	case len(words) > 1 && strings.HasPrefix(words[1], "-") && scattered(pattern, words):
		return perhaps
	default:
		return apart
	}
}

// scattered reports whether it is the pattern's program, with the other words of the pattern somewhere behind it, in their
// order.
func scattered(pattern string, words []string) bool {
	wanted := strings.Fields(strings.TrimSuffix(pattern, " *"))
	if words[0] != wanted[0] {
		return false
	}
	for _, word := range words {
		if len(wanted) > 0 && word == wanted[0] {
			wanted = wanted[1:]
		}
	}
	return len(wanted) == 0
}

// subcommands are the programs of which the words behind the name say what they do, and how many words do: to allow
// gh pr view is not to allow gh pr merge. What stands behind other names is a file, or a word to look for.
var subcommands = map[string]int{
	"git": 1, "git bisect": 2, "git notes": 2, "git remote": 2, "git stash": 2, "git submodule": 2, "git worktree": 2,
	"kubectl": 1, "kubectl auth": 2, "kubectl config": 2, "kubectl rollout": 2, "helm": 1, "helm repo": 2,
	"docker": 1, "docker compose": 2, "docker container": 2, "docker image": 2, "docker network": 2, "docker volume": 2,
	"podman": 1, "podman compose": 2, "podman container": 2, "podman image": 2, "podman network": 2, "podman volume": 2,
	"terraform": 1, "terraform state": 2, "terraform workspace": 2, "systemctl": 1, "go": 1, "go mod": 2, "cargo": 1, "npm": 1,
	"apt": 1, "apt-get": 1, "apt-cache": 1, "dnf": 1, "yum": 1, "brew": 1, "pip": 1, "ip": 2, "gh": 2, "aws": 2, "az": 2, "gcloud": 3,
}

// subcommand is the form of a sub-command.
var subcommand = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// repeatable is the pattern of the commands that are like this one: with its program, and its sub-command where it has
// one. One that runs code which its words do not show can only be remembered as it stands, and one that writes files,
// or cannot be judged, not at all but exactly.
func repeatable(script shell.Script, action domain.Action) string {
	if len(action.Hosts)+len(action.Secrets)+len(script.Writes)+len(script.Unclear) > 0 || len(script.Commands) != 1 || script.Catastrophe() != "" {
		return ""
	}
	command := script.Commands[0]
	pattern := command.Text
	if beginning, known := saying(command.Words); known && !command.Runs {
		pattern = strings.Join(beginning, " ") + " *"
	}
	if !plainCommand(pattern) {
		return ""
	}
	return pattern
}

// saying are the words that define a command: its program with its sub-commands. In git -C elsewhere log they are
// not at the beginning, and git * would be about more than anybody meant.
func saying(words []string) (beginning []string, known bool) {
	count := 1 + subcommands[words[0]]
	if len(words) > 1 {
		count = max(count, 1+subcommands[words[0]+" "+words[1]])
	}
	if len(words) < count {
		return nil, false
	}
	odd := func(word string) bool { return !subcommand.MatchString(word) }
	return words[:count], !slices.ContainsFunc(words[1:count], odd)
}

package approvals

import (
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
	"signoff/internal/egress"
)

// restricts returns how far a denying or asking rule with this matcher covers the call. A part of the call that is covered is enough, but
// every field that is set must hold.
func (j *judging) restricts(m domain.Matcher) fit {
	if coversAll(m) || !j.isMeant(m) || !j.restrictsHere(m) || m.Class != "" && !j.takes(m.Class) {
		return apart
	}
	return min(j.onPath(m.Path), j.toHost(m.Host), j.byCommand(m.Command), j.argumentsRestricted(m.Arguments))
}

// takes reports whether a rule that restricts a class is about the call. A tool that only reads, as the operator believes its server, is read as well.
func (j *judging) takes(class domain.Class) bool {
	return j.does(class) || class == domain.ClassRead && j.readsOnly()
}

// restrictsHere reports whether a denying or asking rule holds in the environment of the call. One that names none holds in all, and one that
// names an environment goes on to hold when the definition changes.
func (j *judging) restrictsHere(m domain.Matcher) bool {
	here := string(domain.ViewWorkspace) // before there were environments
	if j.Environment != nil {
		here = j.Environment.Name
	}
	return m.Environment == "" || m.Environment == here
}

// onPath compares a glob with the files that the call names, and with those that its command line writes.
func (j *judging) onPath(pattern string) fit {
	if pattern == "" {
		return certain
	}
	found := apart
	if j.hidesPaths() {
		found = perhaps
	}
	for _, path := range slices.Concat(j.call.Action.Paths, j.writes) {
		found = max(found, j.touches(path, pattern))
	}
	return found
}

// hidesPaths reports whether the call may touch files that it does not name: a command line that nobody can read, or an
// external agent that works on files and does not name them. Our own tools name theirs, and our commands run in
// a sandbox.
func (j *judging) hidesPaths() bool {
	onFiles := slices.ContainsFunc([]domain.Class{domain.ClassRead, domain.ClassWrite, domain.ClassExecute, domain.ClassOther}, j.does)
	silent := len(j.call.Action.Paths)+len(j.script.Writes) == 0
	return len(j.script.Unclear) > 0 || silent && onFiles && j.agent != internalAgent
}

func (j *judging) does(class domain.Class) bool { return slices.Contains(j.needs, class) }

// touches compares one path. A folder is a path, too: to search or move it touches its content.
func (j *judging) touches(path, pattern string) fit {
	if !filepath.IsAbs(path) {
		if path == shell.Unknown || j.directory == "" {
			return perhaps
		}
		path = filepath.Join(j.directory, path)
	}
	path = filepath.Clean(path)
	if found := inGlob(pattern, path); found != apart {
		return found
	}
	if aboveGlob(pattern, path) {
		return perhaps
	}
	return apart
}

// toHost compares a pattern with the hosts of the call. In a denying or asking rule, *.example.org covers example.org as well: the
// author of such a rule means the whole domain.
func (j *judging) toHost(pattern string) fit {
	if pattern == "" {
		return certain
	}
	found := apart
	for _, host := range j.call.Action.Hosts {
		host = strings.TrimSuffix(host, ".")
		switch {
		case pattern == "*", egress.Covers([]string{pattern, strings.TrimPrefix(pattern, "*.")}, host):
			return certain
		case !egress.Pattern(pattern), !egress.Covers([]string{"*"}, host): // one of the two is no host
			found = perhaps
		}
	}
	return found
}

// byCommand compares a pattern with all that the command line may run. Where that is not known, a rule may be about it.
func (j *judging) byCommand(pattern string) fit {
	if pattern == "" {
		return certain
	}
	found := apart
	if len(j.script.Unclear) > 0 || j.call.Class == domain.ClassExecute && j.call.Action.Command == "" {
		found = perhaps
	}
	for _, c := range j.script.Readings() {
		found = max(found, isRestricted(pattern, c.Words))
	}
	return found
}

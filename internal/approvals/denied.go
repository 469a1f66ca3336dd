package approvals

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"signoff/internal/domain"
)

// How deny rules about paths hold for commands. A line shows little of the files that a command touches: a link that it makes, a script, a
// program leads anywhere. So the isolation keeps a command from denied paths, and a rule that it cannot enforce asks about every
// command that it may be about.

// Isolation is the isolation of commands, as far as permission rules need it.
type Isolation interface {
	// Reaches lists the files and folders of this machine that a command in dir can read, or can write, with all that is in them.
	Reaches(dir string, write bool) []string
	// Keeps returns nil if a command in dir can be kept from the denied path, or does not reach it anyway. Otherwise the error
	// says why not, in words that follow "because".
	Keeps(ctx context.Context, dir string, denied domain.Denied) error
}

var (
	errNoIsolation = errors.New("nothing isolates it")
	errNoDirectory = errors.New("nobody knows where it runs")
	errPattern     = errors.New("the path is a pattern")
	errParticular  = errors.New("the rule is about particular commands")
)

// unkeepable is the reason for asking; its arguments are the rule, and why the isolation cannot enforce it.
const unkeepable = "A permission rule denies %s. A command may reach that in ways that its line does not show, and it cannot be kept from it, because %v."

// Denied lists the paths that the rules deny to a command that is about to run. A rule that became impossible to enforce since the judgement is an
// error (CodePolicyDenied), unless a person has said yes to the command.
func (p Policy) Denied(ctx context.Context, command domain.Command, now time.Time) ([]domain.Denied, error) {
	own, err := p.deniedByRules(ctx, command, now)
	if err != nil {
		return nil, err
	}
	above, err := p.deniedByCeilings(ctx, command, now)
	return append(own, above...), err
}

func (p Policy) deniedByRules(ctx context.Context, command domain.Command, now time.Time) ([]domain.Denied, error) {
	call := domain.ToolCall{Tool: command.Tool, Class: domain.ClassExecute, Action: domain.Action{Hosts: command.Hosts}}
	j := &judging{Policy: p, ctx: ctx, call: call, needs: []domain.Class{domain.ClassExecute}}
	if len(command.Hosts) > 0 {
		j.need(domain.ClassNetwork)
	}
	j.directory = command.Dir
	var all []domain.Denied
	for _, rule := range p.all() {
		if rule.Effect != domain.Deny || !rule.Active(now) || rule.Matcher.Command != "" || !j.mayReach(rule.Matcher) {
			continue
		}
		denied, err := j.keep(rule.Matcher)
		switch {
		case err == nil && denied.Path != "":
			all = append(all, denied)
		case err != nil && !command.Approved:
			return nil, domain.Errorf(domain.CodePolicyDenied, "The command was not begun. "+unkeepable, Describe(rule.Matcher), err)
		}
	}
	return all, nil
}

// unkept returns why a command that the rule denies some paths to cannot be kept from them; nil where it can, or where the rule is not about it.
func (j *judging) unkept(m domain.Matcher) error {
	if !j.does(domain.ClassExecute) || !j.mayReach(m) {
		return nil
	}
	_, err := j.keep(m)
	return err
}

// mayReach reports whether a rule denies paths to a command like this one, whatever its line shows of them. A command may read and write, and
// reach the hosts that it is granted.
func (j *judging) mayReach(m domain.Matcher) bool {
	if j.call.Tool == "" {
		m.Tool = ""
	}
	if !j.restrictsHere(m) {
		return false
	}
	switch m.Class {
	case "", domain.ClassRead, domain.ClassWrite, domain.ClassExecute:
	default:
		if !j.does(m.Class) {
			return false
		}
	}
	return m.Path != "" && j.isMeant(m) && min(j.toHost(m.Host), j.byCommand(m.Command)) != apart
}

// keep returns the path that the isolation has to keep from the command; none if the command does not reach it.
func (j *judging) keep(m domain.Matcher) (domain.Denied, error) {
	write := m.Class == domain.ClassWrite
	switch {
	case j.Isolation == nil:
		return domain.Denied{}, errNoIsolation
	case j.directory == "":
		return domain.Denied{}, errNoDirectory
	case m.Command != "" || m.ArgumentsHash != "":
		return domain.Denied{}, errParticular
	}
	if path, isPlain := plainPath(m.Path); isPlain {
		denied := domain.Denied{Path: path, Hidden: !write}
		return denied, j.Isolation.Keeps(j.ctx, j.directory, denied)
	}
	for _, folder := range j.Isolation.Reaches(j.directory, write) {
		if mayBeIn(folder, m.Path) {
			return domain.Denied{}, errPattern
		}
	}
	return domain.Denied{}, nil
}

// plainPath is the one file or folder that a glob is about, with all that is in it: /srv/a and /srv/a/**.
func plainPath(glob string) (path string, isPlain bool) {
	glob, _ = strings.CutSuffix(glob, "/**")
	var plain strings.Builder
	for i := 0; i < len(glob); i++ {
		switch {
		case strings.IndexByte("*?[{", glob[i]) >= 0:
			return "", false
		case glob[i] == '\\' && i+1 < len(glob): // what follows stands for itself
			i++
		}
		plain.WriteByte(glob[i])
	}
	path = "/" + strings.TrimPrefix(plain.String(), "/")
	return path, path == filepath.Clean(path)
}

// mayBeIn reports whether a folder, or what may be in it, matches a glob. In doubt it does.
func mayBeIn(folder, glob string) bool {
	names := strings.FieldsFunc(folder, func(r rune) bool { return r == '/' })
	for _, pattern := range strings.Split(strings.TrimPrefix(glob, "/"), "/") {
		if len(names) == 0 || strings.Contains(pattern, "**") {
			return true
		}
		if inGlob("/"+pattern, "/"+names[0]) == apart {
			return false
		}
		names = names[1:]
	}
	return len(names) == 0 // otherwise the glob names a folder above, and not its content
}

package approvals

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// What works on the host is held by nothing but this policy: no sandbox keeps it from a file, a socket or a host. So a person sees each call, and neither a
// request nor a remembered pattern lets one run unseen. Only the operator does, who has written the environment and its patterns.

// worksOnHost reports whether the call works on the machine without isolation: it runs a command, changes a file, or reads one outside of the
// working directory. What the client runs, and what only reaches a server or the runbook, does not.
func (j *judging) worksOnHost() bool {
	if j.Environment == nil || j.Environment.Isolated() || slices.Contains(j.clients, j.call.Tool) {
		return false
	}
	paths := j.call.Action.Paths
	unknown := len(paths) == 0 && j.agent != internalAgent // our own tools name their files
	switch {
	case j.does(domain.ClassExecute), j.call.Class == domain.ClassOther:
		return true
	case j.call.Class == domain.ClassWrite:
		return len(paths) > 0 || unknown
	case j.call.Class == domain.ClassRead:
		return unknown || slices.ContainsFunc(paths, j.outside)
	default:
		return false
	}
}

// outside reports whether a path leads out of the working directory. So may one that the server cannot look at: a link that only the user of
// the environment can read leads anywhere.
func (j *judging) outside(path string) bool {
	relative, err := filepath.Rel(j.directory, path)
	if err != nil || !filepath.IsLocal(relative) {
		return true
	}
	_, err = os.Lstat(path)
	return errors.Is(err, fs.ErrPermission)
}

// notice is the first line of an approval of what works on the host.
func (j *judging) notice() string {
	who := j.Environment.User
	if who == "" {
		who = serverUser()
	}
	line := fmt.Sprintf("runs on %s, as %s, without isolation", machine(), who)
	if j.Environment.AsServer {
		line += ", can approve its own calls"
	}
	return line
}

// machine is the name of the machine that the server runs on.
var machine = sync.OnceValue(func() string {
	name, _ := os.Hostname()
	return cmp.Or(name, "this machine")
})

// serverUser is the user that the server runs as.
var serverUser = sync.OnceValue(func() string {
	if who, err := user.Current(); err == nil && who.Username != "" {
		return who.Username
	}
	return "the user " + strconv.Itoa(os.Getuid())
})

// listed allows a command on the host whose every part is covered by a pattern of the environment. A pattern covers what the command says. It does not cover
// what the command writes or reads by a redirection, what it is lent, or what the line becomes only when it runs.
func (j *judging) listed() (Judgement, string) {
	e, action := j.Environment, j.call.Action
	switch {
	case len(e.Allow) == 0:
		return Judgement{}, "no rule allows it, and the environment has no patterns"
	case e.AsServer:
		return Judgement{}, "no pattern holds for what can approve its own calls"
	case j.call.Class != domain.ClassExecute || action.Command == "":
		return Judgement{}, "the patterns of the environment are about commands"
	case len(action.Secrets)+len(j.script.Writes)+len(j.script.Reads) > 0:
		return Judgement{}, "no pattern covers redirections and secrets"
	}
	for _, action := range []domain.Verdict{domain.Deny, domain.Ask} { // of the request, which may narrow what the operator allows
		if finding, found := j.finding(action); found {
			return Judgement{}, because(finding)
		}
	}
	for _, class := range j.needs {
		if class != domain.ClassExecute && class != domain.ClassHost && j.capabilities.Of(class) != domain.Allow {
			return Judgement{}, "the patterns of the environment allow no command that may " + verbs[class]
		}
	}
	patterns, err := hostPolicy(e.Allow)
	if err != nil {
		return Judgement{}, "the patterns of the environment cannot be read"
	}
	verdict := patterns.Judge(j.ctx, j.script, action.Command)
	if verdict.Action != domain.Allow || verdict.Incomplete {
		return Judgement{}, "no pattern of the environment covers all of the line"
	}
	return Judgement{
		Verdict: domain.Allow, By: ByEnvironment,
		Reason: fmt.Sprintf("The environment %s allows this on the host without a question: %s.", e.Name, verdict.Findings[0].Rule),
	}, ""
}

// hostPolicy compiles patterns of commands that are allowed on the host; nothing else is.
func hostPolicy(allow []string) (*shell.Policy, error) {
	policy := domain.BashPolicy{DefaultBehavior: domain.Deny}
	for _, pattern := range allow {
		policy.Rules = append(policy.Rules, domain.BashRule{Name: shortened(pattern), Pattern: pattern, Action: domain.Allow})
	}
	return shell.Compile(policy)
}

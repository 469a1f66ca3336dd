package approvals

import (
	"context"
	"slices"
	"sync"
	"time"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// judging is one call under the policy.
type judging struct {
	Policy
	ctx     context.Context
	call    domain.ToolCall // with the targets of its links among the paths
	hash    string
	older   string // the hash of version 1; empty where hash is of that version
	now     time.Time
	needs   []domain.Class // all powers that it takes, its own class first
	script  shell.Script   // where it runs a command line
	writes  []string       // files that the line writes, with the targets of their links
	verdict shell.Verdict

	document func() any // the arguments; nil where they have no canonical form. It reads them once, for all rules
}

func (p Policy) look(ctx context.Context, call domain.ToolCall, hash string, now time.Time) *judging {
	call.Action.Paths = withTargets(p.directory, call.Action.Paths)
	if call.MCP != nil {
		call.Action.Server = call.MCP.Server
	}
	j := &judging{Policy: p, ctx: ctx, call: call, hash: hash, now: now, needs: []domain.Class{call.Class}}
	j.document = sync.OnceValue(func() any { return documentOf(call.Arguments) })
	if line := call.Action.Command; line != "" {
		j.script = shell.Parse(ctx, line)
		j.verdict = p.bash.Judge(ctx, j.script, line)
		j.writes = withTargets(p.directory, j.script.Writes)
		j.need(domain.ClassExecute) // whatever the call says that it is: it runs a command
		if len(j.script.Writes) > 0 {
			j.need(domain.ClassWrite)
		}
	}
	if call.Class == domain.ClassExecute && call.Action.Command == "" && p.bash != nil {
		j.verdict = shell.Verdict{Action: domain.Ask, Findings: []shell.Finding{{
			Action: domain.Ask, Reason: "The agent does not say which command it would run, so the bash policy cannot judge it.",
		}}}
	}
	if len(call.Action.Hosts) > 0 {
		j.need(domain.ClassNetwork)
	}
	if j.call.Action.Server != "" {
		j.need(domain.ClassMCP)
	}
	if p.Environment != nil && hash != "" {
		j.older, _ = Hash(call, p.directory, nil) // hash says that there is one
	}
	if j.worksOnHost() {
		j.need(domain.ClassHost)
	}
	return j
}

func (j *judging) need(class domain.Class) {
	if !slices.Contains(j.needs, class) {
		j.needs = append(j.needs, class)
	}
}

func (j *judging) finding(action domain.Verdict) (shell.Finding, bool) {
	if j.verdict.Action != action {
		return shell.Finding{}, false
	}
	for _, finding := range j.verdict.Findings {
		if finding.Action == action {
			return finding, true
		}
	}
	return shell.Finding{Action: action, Reason: "The bash policy says " + string(action) + "."}, true
}

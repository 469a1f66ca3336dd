package approvals

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// Judgement is the verdict of the policy with its reason.
type Judgement struct {
	Verdict domain.Verdict
	Step    int // of the nine
	By      Source
	RuleID  string                  // where a permission rule decided
	Decider *domain.PermissionRule  // that rule; one of the request itself has no author
	Rule    string                  // name of the rule of the bash policy, where one decided
	Reason  string                  // a sentence, for people and for the model
	Trace   []Step                  // the findings of all steps up to the deciding one
	Options []domain.RememberOption // the rules that a decision about the call may remember
	Notice  string                  // what a person reads first: that the call works on the host; empty for all others
	MCP     *domain.MCPReview       // what a person sees of the tool of an MCP server; nil: the call is for none
}

// Step is one line of a [Judgement]'s trace.
type Step struct {
	Number  int
	Name    string
	Applied bool
	Detail  string
}

// JudgeTime is how long one call may be judged. An ordinary one takes less than a millisecond.
const JudgeTime = 2 * time.Second

// Judge returns the verdict over a call, and the rules that a decision about it may remember. It follows the links of the paths that
// the call names, and returns when its context ends or [JudgeTime] is over: a call that is not judged by then asks a person, or is
// refused in an unattended execution. It may be called at once.
func (p Policy) Judge(ctx context.Context, call domain.ToolCall, hash string, now time.Time) Judgement {
	ctx, cancel := context.WithTimeout(ctx, JudgeTime)
	defer cancel()
	judged := make(chan Judgement, 1)
	go func() { // neither a hanging file system nor a bug in here may block the caller, or crash the server
		defer func() {
			if r := recover(); r != nil {
				slog.Error("judging a call panicked", "tool", call.Tool, "panic", r, "stack", string(debug.Stack()))
				judged <- p.undecided(call, hash, "The call could not be judged: judging it failed.")
			}
		}()
		judged <- p.judge(ctx, call, hash, now)
	}()
	select {
	case judgement := <-judged:
		if judgement.Verdict != domain.Allow || ctx.Err() == nil {
			return judgement
		}
	case <-ctx.Done():
	}
	return p.undecided(call, hash, "The call could not be judged in time.")
}

// undecided is the judgement of a call that could not be judged.
func (p Policy) undecided(call domain.ToolCall, hash, why string) Judgement {
	asked := asking(ByServer, "%s", why)
	asked.Options, asked.MCP = []domain.RememberOption{p.exactly(call, hash)}, (&judging{Policy: p, call: call}).review()
	asked.Step, asked.Trace = 8, []Step{{Number: 8, Name: "otherwise ask", Applied: true, Detail: why}}
	if j := (&judging{Policy: p, call: call}); p.Environment != nil && !p.Environment.Isolated() {
		asked.Notice = j.notice() // also where it may not be needed: nobody has looked
	}
	return (&judging{Policy: p}).attended(asked)
}

// judge is the policy. The order is fixed, the first step that applies decides:
//
//  1. refuse: the tool of the internal agent is off, a capability says deny, or the bash policy blocks;
//  2. a catastrophic command always asks, whatever was remembered;
//  3. a permission rule says deny, or ask; one that may be about the call asks; the definition of an MCP tool that has changed since a person
//     approved it asks;
//  4. a permission rule, one of the bash policy, or a pattern of the environment, allows;
//  5. safe mode is off: run, but nothing on the host;
//  6. the bash policy denies and wants a person, or cannot judge the line: ask;
//  7. the capabilities allow: run;
//  8. otherwise ask;
//  9. in an unattended execution, ask becomes deny.
//
// The ceilings above a child judge its calls by the same steps, before the last step; the strictest judgement counts.
//
// It is a function of its arguments, of the links in the workspace, and of the paths that the isolation can keep from a command.
func (p Policy) judge(ctx context.Context, call domain.ToolCall, hash string, now time.Time) Judgement {
	return p.bound(ctx, p.ownJudgement(ctx, call, hash, now), call, hash, now)
}

// ownJudgement is the judgement of the first eight steps.
func (p Policy) ownJudgement(ctx context.Context, call domain.ToolCall, hash string, now time.Time) Judgement {
	judged := p.look(ctx, call, hash, now)
	var trace []Step
	for number, step := range steps {
		judgement, detail := step.decide(judged)
		applied := judgement.Verdict != ""
		if applied {
			detail = judgement.Reason
		}
		trace = append(trace, Step{Number: number + 1, Name: step.name, Applied: applied, Detail: detail})
		if applied {
			judgement.Step, judgement.Trace = number+1, trace
			judgement.Options, judgement.MCP = judged.options(call), judged.review()
			if judged.does(domain.ClassHost) {
				judgement.Notice = judged.notice()
			}
			return judgement
		}
	}
	panic("approvals: the last step always applies")
}

// JudgeQuestion says whether a question in words may be asked. Nobody but a person can answer it.
func JudgeQuestion(request domain.Request) Judgement {
	asked := Judgement{Verdict: domain.Ask, Step: 8, By: ByCapability, Reason: "The agent asks a question."}
	if request.Unattended {
		return Judgement{Verdict: domain.Deny, Step: 9, By: ByUnattended, Reason: "Nobody is there who could answer a question: the execution is unattended."}
	}
	return asked
}

// steps are 1 to 8. A step that does not apply returns no verdict, and its finding.
var steps = []struct {
	name   string
	decide func(*judging) (Judgement, string)
}{
	{"refuse what is off, denied or blocked", (*judging).refuse},
	{"always ask about the catastrophic", (*judging).catastrophic},
	{"permission rules that deny or ask, and changed definitions", (*judging).restricted},
	{"rules that allow", (*judging).permitted},
	{"safe mode off", (*judging).trusted},
	{"bash policy asks", (*judging).doubtful},
	{"capabilities allow", (*judging).capable},
	{"otherwise ask", (*judging).otherwise},
}

func (j *judging) refuse() (Judgement, string) {
	if j.broken {
		return refusal(ByBrokenPolicy, "The policy of this execution cannot be read, so nothing runs."), ""
	}
	if j.agent == internalAgent && j.call.MCP == nil && j.enabled != nil && !slices.Contains(j.enabled, j.call.Tool) {
		return refusal(ByTools, "The tool %s is not among the tools of this execution.", j.call.Tool), ""
	}
	for _, secret := range j.call.Action.Secrets {
		if !slices.Contains(j.secrets, secret) {
			return refusal(ByTools, "The secret %q is not among the secrets of this execution.", secret), ""
		}
	}
	for _, class := range j.needs {
		if granted := j.granted(class); granted != domain.Allow && granted != domain.Ask {
			return refusal(ByCapability, "This execution may not use tools that %s.", verbs[class]), ""
		}
	}
	if finding, denied := j.finding(domain.Deny); denied && j.bash.Denial() == domain.DenyBlock {
		judgement := refusal(ByBashPolicy, "%s", because(finding))
		judgement.Rule = finding.Rule
		return judgement, ""
	}
	return Judgement{}, "nothing is off, denied or blocked"
}

// verbs describe each class, in a sentence about tools.
var verbs = map[domain.Class]string{
	domain.ClassRead: "read", domain.ClassWrite: "write files", domain.ClassExecute: "execute commands",
	domain.ClassNetwork: "reach the network", domain.ClassMCP: "belong to MCP servers", domain.ClassDelegate: "delegate to other agents",
	domain.ClassHost:  "work on the host without isolation",
	domain.ClassOther: "do what nobody can classify",
}

// because describes the finding of the bash policy, with its part of the line, for people who see the whole line.
func because(f shell.Finding) string {
	switch {
	case f.Rule != "":
		return fmt.Sprintf("The rule “%s” of the bash policy says %s to %q.", f.Rule, f.Action, shortened(f.Command))
	case f.Command != "" && f.Action != domain.Ask:
		return fmt.Sprintf("The bash policy says %s to %q: no rule is about it.", f.Action, shortened(f.Command))
	default:
		return f.Reason
	}
}

// shortened keeps a sentence a sentence; the whole command stands beside it.
func shortened(command string) string {
	if runes := []rune(command); len(runes) > 100 {
		return string(runes[:100]) + "…"
	}
	return command
}

func (j *judging) catastrophic() (Judgement, string) {
	if j.call.Action.Command == "" {
		return Judgement{}, "it runs no command line"
	}
	if why := j.script.Catastrophe(); why != "" {
		return asking(ByCatastrophe, "%s", why), ""
	}
	for _, file := range withTargets(j.directory, j.script.Targets()) {
		if why := shell.Ruins(file); why != "" {
			return asking(ByCatastrophe, "%s", why), ""
		}
	}
	if j.verdict.Incomplete { // one of the unchecked rules may block
		return asking(ByBashPolicy, "It takes too long to hold the line against all rules of the bash policy."), ""
	}
	return Judgement{}, "the command line is not in the catastrophic set"
}

// restricted checks certain rules before possible ones: a rule that may cover the call must not turn a certain denial into a
// question. A rule may cover a command if the isolation cannot keep the command from the denied path.
func (j *judging) restricted() (Judgement, string) {
	for _, covered := range []fit{certain, perhaps} {
		for _, effect := range []domain.Verdict{domain.Deny, domain.Ask} {
			var unkept error
			rule := j.first(effect, func(rule domain.PermissionRule) bool {
				m := rule.Matcher
				if unkept = nil; covered == perhaps && effect == domain.Deny {
					unkept = j.unkept(m)
				}
				return unkept != nil || j.restricts(m) == covered
			})
			if rule == nil {
				continue
			}
			judgement := asking(ByRule, "A permission rule says to ask about this: %s.", Describe(rule.Matcher))
			switch {
			case unkept != nil:
				judgement = asking(ByRule, unkeepable, Describe(rule.Matcher), unkept)
			case covered == perhaps:
				judgement = asking(ByRule, "A permission rule says %s to this, and whether the call is of that kind cannot be told: %s.", effect, Describe(rule.Matcher))
			case effect == domain.Deny:
				judgement = refusal(ByRule, "A permission rule denies this: %s.", Describe(rule.Matcher))
			}
			return judgement.decidedBy(rule), ""
		}
	}
	if asked, changed := j.changed(); changed {
		return asked, ""
	}
	return Judgement{}, "no permission rule denies it or asks about it"
}

func (j Judgement) decidedBy(rule *domain.PermissionRule) Judgement {
	j.RuleID, j.Decider = rule.ID, rule
	return j
}

func (j *judging) permitted() (Judgement, string) {
	covers := func(rule domain.PermissionRule) bool { return j.allows(rule.Matcher) && j.coversDefinition(rule) }
	if rule := j.first(domain.Allow, covers); rule != nil {
		allowed := Judgement{Verdict: domain.Allow, By: ByRule, Reason: "A permission rule allows this: " + Describe(rule.Matcher) + "."}
		return allowed.decidedBy(rule), ""
	}
	if j.does(domain.ClassHost) {
		return j.listed()
	}
	if why := j.uncovered(); why != "" {
		return Judgement{}, why
	}
	finding, allowed := j.finding(domain.Allow)
	if !allowed {
		return Judgement{}, "no rule allows it"
	}
	if also := j.beyondExecute(); also != "" {
		return Judgement{}, "the bash policy allows the command, but not that it " + also
	}
	return Judgement{Verdict: domain.Allow, By: ByBashPolicy, Rule: finding.Rule, Reason: because(finding)}, ""
}

// beyondExecute names the effects of a command that the rules for command lines do not cover: a rule that allows cat does not allow
// it to overwrite a file with its output.
func (j *judging) beyondExecute() string {
	if len(j.call.Action.Secrets) > 0 {
		return "gets secrets"
	}
	for _, class := range j.needs {
		if class != domain.ClassExecute && j.capabilities.Of(class) != domain.Allow {
			return "may " + verbs[class]
		}
	}
	return ""
}

func (j *judging) trusted() (Judgement, string) {
	if j.safeModeOff && j.does(domain.ClassHost) {
		return Judgement{}, "safe mode is off, which holds for nothing on the host"
	}
	if j.safeModeOff {
		return Judgement{Verdict: domain.Allow, By: BySafeMode, Reason: "Safe mode is off for this execution."}, ""
	}
	return Judgement{}, "safe mode is on"
}

func (j *judging) doubtful() (Judgement, string) {
	for _, action := range []domain.Verdict{domain.Deny, domain.Ask} {
		if finding, found := j.finding(action); found {
			judgement := asking(ByBashPolicy, "%s", because(finding))
			judgement.Rule = finding.Rule
			return judgement, ""
		}
	}
	return Judgement{}, "the bash policy has nothing against it"
}

func (j *judging) capable() (Judgement, string) {
	for _, class := range j.needs {
		if class == domain.ClassOther || j.granted(class) != domain.Allow {
			return Judgement{}, fmt.Sprintf("the capability %s says ask", class)
		}
	}
	return Judgement{Verdict: domain.Allow, By: ByCapability, Reason: "The capabilities allow it: " + classes(j.needs) + "."}, ""
}

// granted is what the capabilities say of a class. A tool of an MCP server that only reads, as the operator believes the server, runs where reading
// does; where either is denied, it is.
func (j *judging) granted(class domain.Class) domain.Verdict {
	verdict := j.capabilities.Of(class)
	if class != domain.ClassMCP || !j.readsOnly() {
		return verdict
	}
	switch reading := j.capabilities.Of(domain.ClassRead); {
	case verdict == domain.Deny || reading == domain.Deny:
		return domain.Deny
	case verdict == domain.Allow || reading == domain.Allow:
		return domain.Allow
	default:
		return domain.Ask
	}
}

func (j *judging) otherwise() (Judgement, string) {
	asked := asking(ByCapability, "The capabilities ask about it: %s.", classes(j.needs))
	if j.standing() == domain.MCPToolNew {
		asked.Reason += " Nobody has approved " + j.tool() + " before."
	}
	if why := j.uncovered(); why != "" {
		asked.Reason += " " + why
	}
	return asked, ""
}

// attended is step 9.
func (j *judging) attended(judgement Judgement) Judgement {
	if judgement.Verdict != domain.Ask || !j.unattended {
		return judgement
	}
	trace := append(judgement.Trace, Step{Number: 9, Name: "nobody can be asked", Applied: true, Detail: "the execution is unattended"})
	refused := refusal(ByUnattended, "A person would have to be asked, and the execution is unattended. %s", judgement.Reason)
	refused.Step, refused.RuleID, refused.Decider, refused.Rule, refused.Trace = 9, judgement.RuleID, judgement.Decider, judgement.Rule, trace
	refused.Options, refused.Notice, refused.MCP = judgement.Options, judgement.Notice, judgement.MCP
	return refused
}

func refusal(by Source, format string, args ...any) Judgement {
	return Judgement{Verdict: domain.Deny, By: by, Reason: fmt.Sprintf(format, args...)}
}

func asking(by Source, format string, args ...any) Judgement {
	return Judgement{Verdict: domain.Ask, By: by, Reason: fmt.Sprintf(format, args...)}
}

func classes(needs []domain.Class) string {
	names := make([]string, len(needs))
	for i, class := range needs {
		names[i] = string(class)
	}
	return strings.Join(names, ", ")
}

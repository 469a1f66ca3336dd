package shell

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"signoff/internal/domain"
	"signoff/internal/regex"
)

// Limits of a policy.
const (
	maxRules   = 200
	maxName    = 200     // bytes of a rule's name
	maxPattern = 4 << 10 // bytes of a pattern
	maxSize    = 4000    // instructions of a compiled pattern: a{1000} is short to write and long to run
	maxMatch   = 1 << 27 // bytes of text times instructions of the pattern, over all matches of one line
)

// Policy is a compiled [domain.BashPolicy]. A nil policy asks a person about everything.
type Policy struct {
	rules  []rule
	allows bool // commands that no rule matches
	denial domain.DenyBehavior
}

// rule is a compiled [domain.BashRule].
type rule struct {
	name    string
	allows  bool
	pattern *regex.Regexp  // finds a match anywhere: for deny
	begins  *regexp.Regexp // finds the longest match at the beginning: for allow
}

// Finding is the judgement of one part of a line, and its reason.
type Finding struct {
	Command string
	Rule    string         // its name; empty: no rule, but the default or the parser
	Action  domain.Verdict // allow, deny or ask
	Reason  string
}

// Verdict is the judgement of a line: deny where any part is denied; otherwise ask where anything is unclear, or
// runs what it does not show without a rule that names it; otherwise allow. It is empty where nothing was said.
type Verdict struct {
	Action     domain.Verdict
	Findings   []Finding
	Incomplete bool // the line takes too long to be held against all rules: a person must look, whatever was found
}

// Compile checks and compiles a policy. Without a default behavior it denies, without a deny behavior a person is asked.
// The details of its error point into the policy: /rules/0/pattern.
func Compile(p domain.BashPolicy) (*Policy, error) {
	var wrong []domain.Detail
	complain := func(pointer, format string, args ...any) {
		wrong = append(wrong, domain.Detail{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
	}
	if !slices.Contains([]domain.Verdict{"", domain.Allow, domain.Deny}, p.DefaultBehavior) {
		complain("/defaultBehavior", "The default behavior is allow or deny.")
	}
	if !slices.Contains([]domain.DenyBehavior{"", domain.DenyHITL, domain.DenyBlock}, p.DenyBehavior) {
		complain("/denyBehavior", "The deny behavior is hitl or block.")
	}
	if len(p.Rules) > maxRules {
		complain("/rules", "A policy has at most %d rules.", maxRules)
		p.Rules = nil
	}
	compiled := &Policy{allows: p.DefaultBehavior == domain.Allow, denial: domain.DenyHITL}
	if p.DenyBehavior != "" {
		compiled.denial = p.DenyBehavior
	}
	for i, from := range p.Rules {
		at := fmt.Sprintf("/rules/%d/", i)
		compiled.rules = append(compiled.rules, compileRule(from, func(field, format string, args ...any) { complain(at+field, format, args...) }))
	}
	if len(wrong) > 0 {
		return nil, &domain.Error{Code: domain.CodeInvalid, Message: "The bash policy is not valid: " + wrong[0].Message, Details: wrong}
	}
	return compiled, nil
}

// compileRule checks every field of a rule, so that one answer names all that is wrong.
func compileRule(from domain.BashRule, complain func(field, format string, args ...any)) rule {
	if strings.TrimSpace(from.Name) == "" || len(from.Name) > maxName {
		complain("name", "A rule has a name of at most %d bytes.", maxName)
	}
	if from.Action != domain.Allow && from.Action != domain.Deny {
		complain("action", "The action of a rule is allow or deny.")
	}
	compiled := rule{name: from.Name, allows: from.Action == domain.Allow}
	if from.Pattern == "" || len(from.Pattern) > maxPattern {
		complain("pattern", "A pattern has at least one byte and at most %d.", maxPattern)
		return compiled
	}
	var err error
	switch compiled.pattern, err = regex.Compile(from.Pattern, maxSize); {
	case errors.Is(err, regex.ErrTooLarge):
		complain("pattern", "The pattern repeats too much.")
		return compiled
	case err != nil:
		complain("pattern", "The pattern is no regular expression: %v", err)
		return compiled
	}
	compiled.begins = regexp.MustCompile(`\A(?:` + from.Pattern + `)`)
	compiled.begins.Longest()
	return compiled
}

// Denial says whether a denied line is blocked or needs a person.
func (p *Policy) Denial() domain.DenyBehavior {
	if p == nil {
		return domain.DenyHITL
	}
	return p.denial
}

// Judge judges a line that [Parse] took apart. It does a bounded amount of work, and ends soon after its context; then its
// verdict is incomplete.
func (p *Policy) Judge(ctx context.Context, s Script, line string) Verdict {
	var v Verdict
	if p != nil {
		m := &matching{Policy: p, budget: &budget{ctx: ctx, limit: maxMatch}}
		m.judge(&v, s, line)
		v.Incomplete = m.over
	}
	if v.Incomplete {
		v.add(Finding{Command: line, Action: domain.Ask, Reason: "It takes too long to hold the line against all rules."})
	}
	for _, why := range s.Unclear {
		v.add(Finding{Command: line, Action: domain.Ask, Reason: why})
	}
	return v
}

// matching holds one line against the rules. What is not matched any more, because the work is used up, no rule allows.
type matching struct {
	*Policy
	*budget
}

func (m *matching) judge(v *Verdict, s Script, line string) {
	for _, c := range s.Commands {
		v.add(m.command(c))
	}
	if len(s.Commands) == 0 {
		v.add(m.otherwise(Command{Text: line}))
	}
	for _, c := range s.shadows {
		v.addDenied(m.shadow(c))
	}
	v.addDenied(m.whole(s, line))
}

// maxFindings is how many findings are kept: they go into records, and a line can have twenty thousand commands.
const maxFindings = 100

// add notes a finding; the strictest decides, and is always kept.
func (v *Verdict) add(f Finding) {
	stricter := strictness[f.Action] > strictness[v.Action]
	if stricter {
		v.Action = f.Action
	}
	if stricter || len(v.Findings) < maxFindings {
		v.Findings = append(v.Findings, f)
	}
}

var strictness = map[domain.Verdict]int{domain.Allow: 1, domain.Ask: 2, domain.Deny: 3}

func (v *Verdict) addDenied(f Finding, denied bool) {
	if denied {
		v.add(f)
	}
}

// command judges one command: the first rule that matches decides.
func (m *matching) command(c Command) Finding {
	for _, r := range m.rules {
		if r.allows && m.grants(r, c) {
			return Finding{c.Text, r.name, domain.Allow, "The rule allows it."}
		}
		if !r.allows && m.refuses(r, c) {
			return Finding{c.Text, r.name, domain.Deny, "The rule denies it."}
		}
	}
	return m.otherwise(c)
}

// otherwise judges a command that no rule matches.
func (p *Policy) otherwise(c Command) Finding {
	switch {
	case !p.allows:
		return Finding{c.Text, "", domain.Deny, "No rule allows it."}
	case c.Runs:
		return Finding{c.Text, "", domain.Ask, "It runs what its words do not show, and no rule names it."}
	}
	return Finding{c.Text, "", domain.Allow, "No rule denies it."}
}

// shadow judges a further reading of a part: it can only be denied.
func (m *matching) shadow(c Command) (Finding, bool) {
	for _, r := range m.rules {
		if r.allows && m.grants(r, c) {
			return Finding{}, false
		}
		if !r.allows && m.refuses(r, c) {
			return Finding{c.Text, r.name, domain.Deny, "The rule denies what it may run."}, true
		}
	}
	return Finding{}, false
}

// whole judges the line as it was written: a deny rule may be about a whole pipeline. A rule that matches one of the
// commands by itself was heard there, in its place among the rules, so those commands are taken out first.
func (m *matching) whole(s Script, line string) (Finding, bool) {
	line = strings.TrimSpace(line[:min(len(line), maxLine)])
	for _, r := range m.rules {
		if !r.allows && m.finds(r, line) && m.finds(r, m.without(line, s.Commands, r)) {
			return Finding{line, r.name, domain.Deny, "The rule denies the line as a whole."}, true
		}
	}
	return Finding{}, false
}

// without takes the commands out of a line that a deny rule matches by themselves.
func (m *matching) without(line string, commands []Command, r rule) string {
	for _, c := range commands[:min(len(commands), maxCommands)] {
		if m.refuses(r, c) && m.spend(len(line)) {
			line = strings.Replace(line, c.Text, "", 1)
		}
	}
	return strings.TrimSpace(line)
}

// refuses reports whether a deny rule matches a command, with or without the folder of its program.
func (m *matching) refuses(r rule, c Command) bool {
	bare := c.bare()
	return m.finds(r, c.Text) || bare != c.Text && m.finds(r, bare)
}

// finds reports whether a pattern matches somewhere in a text.
func (m *matching) finds(r rule, text string) bool {
	return m.spend(r.pattern.Cost(len(text))) && r.pattern.MatchString(text)
}

// grants reports whether an allow rule matches a command.
func (m *matching) grants(r rule, c Command) bool {
	if !m.spend(r.pattern.Cost(len(c.Text))) || !r.reaches(c, c.Words) {
		return false
	}
	return !c.Runs || m.spend(r.pattern.Cost(len(c.Text))) && r.reaches(c, sealed(c.Words))
}

// reaches reports whether the pattern matches from the first character on, and at least to the end of the program's name:
// ^cat\b is no word for cat-and-mail, nor for cat/../rm.
func (r rule) reaches(c Command, words []string) bool {
	if len(words) == 0 {
		return false
	}
	match := r.begins.FindStringIndex(strings.Join(words, " "))
	return match != nil && match[1] >= len(words[0]) && (!c.Runs || !splits(words, match[1]))
}

// sealed closes the blanks within words. In kubectl -n "x get" delete pod, the text seems to say get; a rule that names
// what it does not see must not be talked into it.
func sealed(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.Join(strings.FieldsFunc(w, unicode.IsSpace), "\u00a0")
	}
	return out
}

// splits reports whether a match ends within a sub-command: ^kubectl get\b is no word for kubectl get-tokens, a plugin.
func splits(words []string, end int) bool {
	if len(words) < 2 {
		return false
	}
	from := len(words[0]) + 1
	return end > from && end < from+len(words[1]) && words[1][end-from] == '-'
}

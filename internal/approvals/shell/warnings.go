package shell

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Warning names the unexpected lines that an allowing rule covers.
type Warning struct {
	Rule    int // its place in the policy
	Message string
}

// Warnings are about rules that allow a program of which nobody here knows what it does with its arguments, whatever these
// are: ^npm test\b also allows npm test --script-shell=./x, which runs x.
//
// The text of a pattern does not tell what the pattern matches, so each rule is asked about command lines: samples of its own
// matches, with arguments that its author did not name.
func (p *Policy) Warnings() (all []Warning) {
	if p == nil {
		return nil
	}
	review := review{&matching{Policy: p, budget: &budget{ctx: context.Background(), limit: maxMatch}}}
	for i, r := range p.rules {
		if !r.allows {
			continue
		}
		if message := review.message(r); message != "" {
			all = append(all, Warning{Rule: i, Message: fmt.Sprintf("The rule “%s”: %s", r.name, message)})
		}
	}
	return all
}

// review asks the rules of a policy about command lines, all of them within one budget.
type review struct {
	*matching
}

func (v review) message(r rule) string {
	for _, program := range []string{"nosuchprogram", "no-such-program"} {
		if v.allows(r, []string{program, anOption}) {
			return "It allows every program, with all arguments."
		}
		if v.allows(r, []string{program}) {
			return "It allows every program."
		}
	}
	lines := linesOf(r)
	for _, name := range names(lines) {
		if v.allows(r, []string{name + "-other", anOption}) {
			return fmt.Sprintf("It allows every program whose name begins with “%s”, with all arguments.", name)
		}
	}
	samples := v.samples(r, lines)
	for _, words := range samples {
		if v.allows(r, append(slices.Clone(words), anOption)) {
			return coversAll(words)
		}
	}
	for _, words := range samples {
		if line := v.unnamed(r, words); line != "" {
			return fmt.Sprintf("It covers arguments that it does not name as well, as in “%s”, also those that make the program run or write something else.", line)
		}
	}
	if v.over {
		return "The policy is too large to look at all that this rule allows; it may cover more than it names."
	}
	return ""
}

// linesOf are the words of command lines that the pattern of a rule matches.
func linesOf(r rule) (all [][]string) {
	known := map[string]bool{}
	for _, text := range matchesOf(r.pattern.Tree) {
		words := strings.Fields(text)
		if line := strings.Join(words, " "); line != "" && !known[line] {
			known[line] = true
			all = append(all, words)
		}
	}
	return all
}

// names are the programs of command lines, the shortest first.
func names(lines [][]string) (all []string) {
	for _, words := range lines {
		all = append(all, words[0])
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// samples are those lines that the rule allows and of which nobody here knows what they do, and the same with the programs of
// which an option is known here, for n.m matches npm. These come first, for they make a better example.
func (v review) samples(r rule, lines [][]string) (all [][]string) {
	add := func(words []string) {
		if v.allows(r, words) {
			all = append(all, words)
		}
	}
	programs, rests := slices.Sorted(maps.Keys(telling)), map[string]bool{}
	for _, words := range lines {
		add(words)
		if rest := strings.Join(words[1:], " "); !rests[rest] && len(rests) < maxRests {
			rests[rest] = true
			for _, program := range programs {
				add(append([]string{program}, words[1:]...))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b []string) int { return cmp.Compare(rank(a[0]), rank(b[0])) })
	return all
}

// maxRests bounds the arguments with which all programs are tried that are known here.
const maxRests = 10

// rank orders programs: those with an option that is known here come first.
func rank(program string) int {
	if telling[program] != nil {
		return 0
	}
	return 1
}

// unnamed returns a command line that the rule allows though it has an argument that no sample has: between the words of one,
// or in the place of one of them.
func (v review) unnamed(r rule, words []string) string {
	for _, option := range unexpected(words[0]) {
		for at := len(words); at > 0; at-- {
			lines := [][]string{slices.Insert(slices.Clone(words), at, option...)}
			if at < len(words) {
				lines = append(lines, slices.Replace(slices.Clone(words), at, at+1, option...))
			}
			for _, line := range lines {
				if v.allows(r, line) {
					return strings.Join(line, " ")
				}
			}
		}
	}
	return ""
}

// unexpected are arguments of a program that no author of a rule has thought of, the telling ones first.
func unexpected(program string) (all [][]string) {
	for _, spelling := range []string{"=./x", " ./x", "=x", ""} {
		for _, option := range telling[program] {
			all = append(all, strings.Fields(strings.TrimSuffix(option, "=")+spelling))
		}
	}
	return append(all, []string{anOption}, []string{"--any-other-option"})
}

// allows reports whether a rule lets a command line run of which nobody here knows what it does.
func (v review) allows(r rule, words []string) bool {
	return v.grants(r, newCommand(words, true)) && v.spend(perLine) && runsUnseen(words)
}

// perLine is what reading a command line counts for.
const perLine = 5000

// runsUnseen reports whether a command is taken for one that may run anything, and is not asked about anyway.
func runsUnseen(words []string) bool {
	script := Parse(context.Background(), strings.Join(words, " "))
	return len(script.Unclear) == 0 && slices.ContainsFunc(script.Commands, func(c Command) bool { return c.Runs && slices.Equal(c.Words, words) })
}

// anOption is an argument that no author of a rule has thought of.
const anOption = "--an-option-of-which-no-rule-knows=./x"

// Covers says what a rule allows that is about all command lines with this beginning; "" where the arguments behind it are
// judged, and cannot have anything run or written unseen.
func Covers(beginning string) string {
	words := strings.Fields(beginning)
	if len(words) == 0 || !runsUnseen(append(slices.Clone(words), anOption)) {
		return ""
	}
	return coversAll(words)
}

func coversAll(words []string) string {
	such := ""
	if options := telling[words[0]]; options != nil {
		such = ", such as " + strings.Join(options, " and ")
	}
	return fmt.Sprintf("It covers all arguments behind “%s” as well, also those that make it run or write something else%s.", strings.Join(words, " "), such)
}

// telling are options by which well-known programs run or write what their other words do not show.
var telling = map[string][]string{
	"npm": {"--script-shell"}, "pnpm": {"--script-shell"}, "yarn": {"--cwd"}, "make": {"--eval", "SHELL="}, "go": {"-exec", "-toolexec"}, "cargo": {"--config"},
	"mvn": {"-Dexec.executable"}, "gradle": {"--init-script"}, "pytest": {"-p"}, "python": {"-c"}, "python3": {"-c"}, "node": {"-e"}, "ruby": {"-e"}, "perl": {"-e"},
	"docker": {"--privileged", "-v"}, "podman": {"--privileged", "-v"}, "kubectl": {"--kubeconfig"}, "helm": {"--post-renderer"}, "terraform": {"-chdir"},
	"git": {"--upload-pack"}, "rsync": {"-e"}, "ssh": {"-o ProxyCommand"}, "curl": {"-K"}, "wget": {"--use-askpass"}, "ansible": {"-e"}, "ansible-playbook": {"-e"},
}

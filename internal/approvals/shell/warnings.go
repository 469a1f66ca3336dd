package shell

import (
	"context"
	"fmt"
	"regexp/syntax"
	"strings"
)

// Warning says what a rule that allows covers besides what its author may think of.
type Warning struct {
	Rule    int // its place in the policy
	Message string
}

// Warnings are about rules that allow a program of which nobody here knows what it does with its arguments, whatever these
// are: ^npm test\b also allows npm test --script-shell=./x, which runs x.
func (p *Policy) Warnings() (all []Warning) {
	if p == nil {
		return nil
	}
	for i, r := range p.rules {
		if message := r.warning(); message != "" {
			all = append(all, Warning{Rule: i, Message: fmt.Sprintf("The rule “%s”: %s", r.name, message)})
		}
	}
	return all
}

func (r rule) warning() string {
	if !r.allows {
		return ""
	}
	m := &matching{Policy: &Policy{}, budget: &budget{ctx: context.Background(), limit: maxMatch}}
	if m.grants(r, newCommand([]string{"no-such-program", anOption}, true)) {
		return "It allows every program, with all arguments."
	}
	beginnings, _ := beginningsOf(r.pattern)
	for _, beginning := range beginnings {
		words := strings.Fields(beginning)
		if len(words) > 0 && m.grants(r, newCommand(append(words, anOption), true)) {
			if message := Covers(beginning); message != "" {
				return message
			}
		}
	}
	return ""
}

// anOption is an argument that no author of a rule has thought of.
const anOption = "--an-option-of-which-no-rule-knows=./x"

// Covers says what a rule allows that is about all command lines with this beginning; "" where the arguments behind it are
// judged, and cannot have anything run or written unseen.
func Covers(beginning string) string {
	words := strings.Fields(beginning)
	if len(words) == 0 {
		return ""
	}
	script := Parse(context.Background(), strings.Join(words, " "))
	if len(script.Commands) != 1 || !script.Commands[0].Runs {
		return ""
	}
	such := ""
	if option := telling[script.Commands[0].name()]; option != "" {
		such = ", such as " + option
	}
	return fmt.Sprintf("It covers all arguments behind “%s” as well, also those that make it run or write something else%s.", strings.Join(words, " "), such)
}

// telling are options by which well-known programs run or write what their other words do not show.
var telling = map[string]string{
	"npm": "--script-shell", "pnpm": "--script-shell", "yarn": "--cwd", "make": "--eval and SHELL=", "go": "-exec and -toolexec", "cargo": "--config",
	"mvn": "-Dexec.executable", "gradle": "--init-script", "pytest": "-p", "python": "-c", "python3": "-c", "node": "-e", "ruby": "-e", "perl": "-e",
	"docker": "--privileged and -v", "podman": "--privileged and -v", "kubectl": "--kubeconfig", "helm": "--post-renderer", "terraform": "-chdir",
	"git": "--upload-pack", "rsync": "-e", "ssh": "-o ProxyCommand", "curl": "-K", "wget": "--use-askpass", "ansible": "-e", "ansible-playbook": "-e",
}

// maxBeginnings bounds how many ways to begin of one pattern are looked at.
const maxBeginnings = 50

// beginningsOf are the texts with which matches of a pattern begin, as far as these are plain; whole tells whether that is all of
// the match.
func beginningsOf(pattern *syntax.Regexp) (texts []string, whole bool) {
	switch pattern.Op {
	case syntax.OpLiteral:
		return []string{string(pattern.Rune)}, true
	case syntax.OpBeginText, syntax.OpBeginLine, syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpCapture:
		return beginningsOf(pattern.Sub[0])
	case syntax.OpCharClass:
		return classBeginnings(pattern.Rune)
	case syntax.OpAlternate:
		whole = true
		for _, sub := range pattern.Sub {
			more, complete := beginningsOf(sub)
			texts, whole = append(texts, more...), whole && complete
		}
		return texts[:min(len(texts), maxBeginnings)], whole && len(texts) <= maxBeginnings
	case syntax.OpConcat:
		return joinedBeginnings(pattern.Sub)
	}
	return []string{""}, false
}

// classBeginnings are the letters of a small class: the parser makes one of (a|b).
func classBeginnings(ranges []rune) (texts []string, whole bool) {
	for i := 0; i+1 < len(ranges); i += 2 {
		for c := ranges[i]; c <= ranges[i+1]; c++ {
			if texts = append(texts, string(c)); len(texts) > 10 {
				return []string{""}, false
			}
		}
	}
	return texts, true
}

func joinedBeginnings(parts []*syntax.Regexp) (texts []string, whole bool) {
	texts = []string{""}
	for _, part := range parts {
		more, complete := beginningsOf(part)
		var longer []string
		for _, text := range texts {
			for _, next := range more {
				longer = append(longer, text+next)
			}
		}
		texts = longer[:min(len(longer), maxBeginnings)]
		if !complete || len(longer) > maxBeginnings {
			return texts, false
		}
	}
	return texts, true
}

package shell

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// growing are lines that grow with n, each in a way that once was, or could be, read more often than its length.
var growing = map[string]func(n int) string{
	"substitutions in quotes":    func(n int) string { return strings.Repeat(`"$(`, n) + "ls" + strings.Repeat(`)"`, n) },
	"substitutions":              func(n int) string { return strings.Repeat(`$(`, n) + "ls" + strings.Repeat(`)`, n) },
	"process substitutions":      func(n int) string { return strings.Repeat(`cat <(`, n) + "ls" + strings.Repeat(`)`, n) },
	"substitutions side by side": func(n int) string { return strings.Repeat(`"$(ls)" `, n) },
	"expansions":                 func(n int) string { return "echo " + strings.Repeat(`${a:-`, n) + "x" + strings.Repeat(`}`, n) },
	"eval":                       func(n int) string { return strings.Repeat("eval ", n) + "ls" },
	"eval of an expansion":       func(n int) string { return strings.Repeat(`eval "$(`, n) + "ls" + strings.Repeat(`)"`, n) },
	"eval of words":              func(n int) string { return "eval " + strings.Repeat("$a;ls ", n) },
	"wrappers":                   func(n int) string { return strings.Repeat("sudo env ", n) + "ls" },
	"carriers":                   func(n int) string { return strings.Repeat("ssh ", n) + "ls" },
	"carried scripts":            func(n int) string { return "ssh " + strings.Repeat("'ls; $x y' ", n) },
	"find in find":               func(n int) string { return strings.Repeat("find . -exec ", n) + "ls" },
	"find and find":              func(n int) string { return "find . " + strings.Repeat(`-exec ls {} \; `, n) },
	"xargs in xargs":             func(n int) string { return "ls | " + strings.Repeat("xargs -I% ", n) + "ls %" },
	"awk that writes":            func(n int) string { return `awk '{print > "x"}' ` + strings.Repeat("a ", n) },
	"words of a program":         func(n int) string { return "unheard-of " + strings.Repeat("a ", n) },
	"words to remove":            func(n int) string { return "rm -f " + strings.Repeat("a ", n) },
	"words to remove by pattern": func(n int) string { return "rm -f " + strings.Repeat("{a,b}*/{c,d}* ", n) },
	"patterns in one word":       func(n int) string { return "rm -rf /" + strings.Repeat("{,a}*", n) },
	"braces":                     func(n int) string { return "rm -rf /" + strings.Repeat("{", n) },
	"braces in braces":           func(n int) string { return "rm -rf /" + strings.Repeat("{a,", n) + strings.Repeat("}", n) },
	"words fed to xargs":         func(n int) string { return "echo " + strings.Repeat("a ", n) + "| xargs rm -rf" },
	"find fed to xargs":          func(n int) string { return strings.Repeat("find a b | xargs rm -rf; ", n) },
	"words of a destroyer":       func(n int) string { return "aws " + strings.Repeat("delete ", n) },
	"options":                    func(n int) string { return "tar " + strings.Repeat("-x ", n) },
	"loops": func(n int) string {
		return strings.Repeat("for a in $a $a /x; do ", n) + "rm -rf /$a" + strings.Repeat("; done", n)
	},
	"loops that read": func(n int) string {
		return strings.Repeat("ls / | while read a; do ", n) + "rm -rf /$a" + strings.Repeat("; done", n)
	},
	"arguments of scripts":     func(n int) string { return strings.Repeat(`bash -c 'rm -rf "$@"' x y z;`, n) },
	"arguments of one script":  func(n int) string { return `bash -c 'rm -rf "$@"' ` + strings.Repeat("x ", n) },
	"folders":                  func(n int) string { return "cd /;" + strings.Repeat("cd a;rm -rf b;", n) },
	"defaults":                 func(n int) string { return "rm -rf " + strings.Repeat("${X:-", n) + "/" + strings.Repeat("}", n) },
	"scripts that are printed": func(n int) string { return strings.Repeat("echo 'ls;ls;ls' | bash;", n) },
	"tests of find":            func(n int) string { return "find ~ " + strings.Repeat("-name '[a]*' -o ", n) + "-delete" },
	"brackets":                 func(n int) string { return "ls " + strings.Repeat("[", n) },
	"variables":                func(n int) string { return strings.Repeat("a=$a$a;", n) + "ls $a" },
	"variables, doubled":       func(n int) string { return "a=xxxx;" + strings.Repeat("a=$a$a;", n) + "$a" },
	"pipes":                    func(n int) string { return strings.Repeat("ls | ", n) + "sh" },
	"pipes in braces":          func(n int) string { return strings.Repeat("{ ", n) + "ls" + strings.Repeat(" | sort; }", n) },
	"pipes of SQL": func(n int) string {
		return "{ " + strings.Repeat("echo drop; ", n) + "} | { " + strings.Repeat("psql; ", n) + "}"
	},
	"functions":         func(n int) string { return strings.Repeat("f() { ", n) + "ls" + strings.Repeat("; }", n) },
	"here-documents":    func(n int) string { return strings.Repeat("bash <<E\nls $x\nE\n", n) },
	"quotes in scripts": func(n int) string { return "sh -c '" + strings.Repeat("sh -c \"ls $x\"; ", n) + "'" },
	"commands":          func(n int) string { return strings.Repeat("unheard-of a;", n) },
	"comments":          func(n int) string { return strings.Repeat("ls # a\n", n) },
	"cases":             func(n int) string { return strings.Repeat("case x in a) ", n) + "ls" + strings.Repeat(";; esac", n) },
	"scripts of sed":    func(n int) string { return "sed " + strings.Repeat("-e 's/[[:alpha:]]*/x/g;p' ", n) },
	"syntax errors":     func(n int) string { return strings.Repeat("ls; ", n) + ")" },
}

// TestWorkIsBounded: whatever a model writes, one line takes a bounded amount of work. What is counted is the memory that all
// of it takes: every piece of work that could grow takes some, and it does not hang on how busy the machine is. What is not
// read to its end is never allowed, also where everything is.
func TestWorkIsBounded(t *testing.T) {
	policy := compiled(t, domain.BashPolicy{DefaultBehavior: domain.Allow, Rules: []domain.BashRule{
		{Name: "no rm", Pattern: `\brm\b`, Action: domain.Deny}, {Name: "all", Pattern: ".*", Action: domain.Allow},
	}})
	for name, line := range growing {
		t.Run(name, func(t *testing.T) {
			for _, n := range sizes {
				script, verdict, memory := judged(t, policy, line(n))
				if memory > maxMemory {
					t.Errorf("%d: it took %d MB of memory", n, memory>>20)
				}
				if over(script) && (verdict.Action == domain.Allow || script.Catastrophe() == "") {
					t.Errorf("%d: what was not read to its end is %q, and no catastrophe", n, verdict.Action)
				}
			}
		})
	}
}

// judged also counts the memory that was taken, with all that was given back since.
func judged(t *testing.T, policy *Policy, line string) (Script, Verdict, uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	script := Parse(t.Context(), line)
	verdict := policy.Judge(t.Context(), script, line)
	_ = script.Catastrophe()
	runtime.ReadMemStats(&after)
	return script, verdict, after.TotalAlloc - before.TotalAlloc
}

// over reports whether a line was not read to its end.
func over(s Script) bool {
	return slices.Contains(s.Unclear, "The line takes too long to be judged.")
}

// TestOrdinaryLinesAreReadToTheirEnd: the bound is far away from all that anybody writes.
func TestOrdinaryLinesAreReadToTheirEnd(t *testing.T) {
	for _, name := range []string{"harmless.txt", "near.txt", "bypass.txt", "catastrophes.txt"} {
		for _, line := range lines(t, name) {
			if script := Parse(t.Context(), line); script.work > maxWork/4 && len(line) < 1000 {
				t.Errorf("%q takes %d units of work, of %d", line, script.work, maxWork)
			}
		}
	}
	for name, line := range map[string]string{
		"many files":           "rm -f " + strings.Repeat("some/path/of/a/file.txt ", 2000),
		"a long here-document": "cat > a <<'E'\n" + strings.Repeat("a line of text; with $things `in it`\n", 1500) + "E",
		"a long text":          "echo '" + strings.Repeat("words and words. ", 3000) + "'",
		"a script":             strings.Repeat("test -f a && grep -q b a || echo none\n", 16),
	} {
		if script := Parse(t.Context(), line); over(script) || script.Catastrophe() != "" {
			t.Errorf("%s: %d units of work, of %d: %s", name, script.work, maxWork, script.Catastrophe())
		}
	}
}

// TestMatchingIsBounded: the rules are many and long, and so is the line.
func TestMatchingIsBounded(t *testing.T) {
	rules := domain.BashPolicy{DefaultBehavior: domain.Allow, Rules: []domain.BashRule{{Name: "first", Pattern: `^shutdown\b`, Action: domain.Deny}}}
	for i := range maxRules - 1 {
		rules.Rules = append(rules.Rules, domain.BashRule{Name: fmt.Sprint(i), Pattern: "^" + strings.Repeat("abcdefgh", 200) + fmt.Sprint(i), Action: domain.Deny})
	}
	policy, line := compiled(t, rules), "echo "+strings.Repeat("x", 60<<10)
	for _, limit := range []int{1, 1 << 10, 1 << 20, maxMatch} {
		m := &matching{Policy: policy, budget: &budget{ctx: t.Context(), limit: limit}}
		var v Verdict
		m.judge(&v, Parse(t.Context(), line), line)
		if !m.over || m.spent > limit {
			t.Errorf("limit %d: over is %v after %d units", limit, m.over, m.spent)
		}
	}
	if verdict := policy.Judge(t.Context(), Parse(t.Context(), line), line); verdict.Action != domain.Ask || !verdict.Incomplete {
		t.Errorf("it is %q, incomplete %v", verdict.Action, verdict.Incomplete)
	}
	if verdict := policy.Judge(t.Context(), Parse(t.Context(), "shutdown"), "shutdown"); verdict.Action != domain.Deny || verdict.Incomplete {
		t.Errorf("a short line is %q, incomplete %v", verdict.Action, verdict.Incomplete)
	}
	longLine := "cat '" + strings.Repeat("x", 60<<10) + "'"
	if verdict := compiled(t, Example).Judge(t.Context(), Parse(t.Context(), longLine), longLine); verdict.Incomplete {
		t.Error("a long line is not held against the rules of the example")
	}
}

// TestNothingIsReadAfterTheDeadline: what nobody waits for any more is not worked on, and never allowed.
func TestNothingIsReadAfterTheDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	script := Parse(ctx, "ls")
	if len(script.Commands) != 0 || len(script.Unclear) == 0 || script.Catastrophe() == "" {
		t.Errorf("it was read: %+v", script)
	}
	policy := compiled(t, domain.BashPolicy{DefaultBehavior: domain.Allow, Rules: []domain.BashRule{{Name: "all", Pattern: ".*", Action: domain.Allow}}})
	if verdict := policy.Judge(ctx, Parse(t.Context(), "ls"), "ls"); verdict.Action != domain.Ask || !verdict.Incomplete {
		t.Errorf("it was judged: %+v", verdict)
	}
}

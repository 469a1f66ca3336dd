package approvals_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/approvals"
	"signoff/internal/domain"
)

// judgeArguments judges a call of a known tool under one rule with these patterns.
func judgeArguments(t interface {
	Fatal(args ...any)
}, effect domain.Verdict, patterns map[string]string, arguments string) domain.Verdict {
	policy, err := approvals.NewPolicy(requested())
	if err != nil {
		t.Fatal(err)
	}
	tool := defined("files", "read", "Reads.")
	held := rule(effect, domain.Matcher{Server: "files", Arguments: patterns})
	held.Created = now
	policy.Rules, policy.Pin = []domain.PermissionRule{held}, pinOf(tool, before)
	got := policy.Judge(context.Background(), calling(tool, arguments), hashed, now)
	if got.Verdict == domain.Ask && got.By != approvals.ByRule { // no rule is about it: the capabilities ask
		return ""
	}
	return got.Verdict
}

func TestPatternsOfArguments(t *testing.T) {
	path, branch := map[string]string{"path": "/srv/**"}, map[string]string{"branch": "main"}
	const asks, apart = domain.Ask, domain.Verdict("")
	for _, test := range []struct {
		patterns     map[string]string
		arguments    string
		allows, deny domain.Verdict // what an allowing and a denying rule do
	}{
		{path, `{"path":"/srv/a/b"}`, domain.Allow, domain.Deny},
		{path, `{"path":"/srv/a","other":1}`, domain.Allow, domain.Deny},
		{path, `{"path":"/etc/a"}`, apart, apart},
		{path, `{"path":"/srv/../etc/a"}`, apart, domain.Deny}, // the text is below /srv; only where the server keeps the way up is it not
		{path, `{"path":"/etc/../srv/a"}`, apart, domain.Deny},
		{path, `{"path":"/srv/%2e%2e/etc"}`, apart, domain.Deny},
		{path, `{"path":"/srv/%252e%252e/etc"}`, apart, domain.Deny},
		{path, `{"path":"/srv/..\\etc"}`, apart, domain.Deny},
		{path, `{"path":"/srv/a\u0000"}`, apart, domain.Deny},
		{path, `{"path":"/s%72v/a"}`, apart, asks},
		{path, `{"path":"/"}`, apart, asks},             // with all below it
		{path, `{"path":"srv/a"}`, apart, asks},         // from a folder that only the server knows
		{path, `{"path":"/SRV/a"}`, apart, asks},        // on a file system that does not tell them apart
		{path, `{}`, apart, asks},                       // by default it may be there
		{path, `{"path":null}`, apart, asks},            //
		{path, `{"Path":"/srv/a"}`, apart, domain.Deny}, // a server that ignores the case takes it
		{path, `{"Path":"/etc/a"}`, apart, asks},        //
		{path, `{"path":"/etc/a","PATH":"/srv/a"}`, apart, domain.Deny},
		{path, `{"path":"/srv/a","PATH":"/etc/a"}`, apart, domain.Deny},
		{path, `{"path":["/srv/a"]}`, apart, domain.Deny},
		{path, `{"path":["/etc/a"]}`, apart, asks},
		{path, `{"path":{"in":{"it":"/srv/a"}}}`, apart, domain.Deny},
		{branch, `{"branch":"main"}`, domain.Allow, domain.Deny},
		{branch, `{"branch":" Main"}`, apart, asks},
		{branch, `{"branch":"maintenance"}`, apart, apart},
		{map[string]string{"branch": "*"}, `{"branch":"a/b"}`, apart, apart},
		{map[string]string{"branch": "**"}, `{"branch":"a/b"}`, domain.Allow, domain.Deny},
		{map[string]string{"n": "1"}, `{"n":1.0}`, domain.Allow, domain.Deny},
		{map[string]string{"n": "1"}, `{"n":10}`, apart, apart},
		{map[string]string{"force": "true"}, `{"force":true}`, domain.Allow, domain.Deny},
		{map[string]string{"force": "true"}, `{"force":false}`, apart, apart},
		{map[string]string{"/to/0/a~1b": "x"}, `{"to":[{"a/b":"x"}]}`, domain.Allow, domain.Deny},
		{map[string]string{"/to/0/a~1b": "x"}, `{"to":[]}`, apart, asks},
		{map[string]string{"/to/00": "x"}, `{"to":["x"]}`, apart, asks},
		{map[string]string{"a~1b": "x"}, `{"a~1b":"x"}`, domain.Allow, domain.Deny},
		{map[string]string{"path": "/srv/**", "branch": "main"}, `{"path":"/srv/a","branch":"main"}`, domain.Allow, domain.Deny},
		{map[string]string{"path": "/srv/**", "branch": "main"}, `{"path":"/srv/a"}`, apart, asks},
		{map[string]string{"path": "/srv/**", "branch": "main"}, `{"path":"/etc/a"}`, apart, apart},
	} {
		if got := judgeArguments(t, domain.Allow, test.patterns, test.arguments); got != test.allows {
			t.Errorf("%v allows %s: %q, want %q", test.patterns, test.arguments, got, test.allows)
		}
		if got := judgeArguments(t, domain.Deny, test.patterns, test.arguments); got != test.deny {
			t.Errorf("%v denies %s: %q, want %q", test.patterns, test.arguments, got, test.deny)
		}
	}
}

// TestWhatAPatternAllowsTheSamePatternDenies: a call that is certain enough to run is certain enough to be refused.
func TestWhatAPatternAllowsTheSamePatternDenies(t *testing.T) {
	names, texts := []string{"A", "/a/b", "/a/0", "b"}, []string{"/srv/**", "/srv/*", "*", "**", "x", "/srv/x", `\*`, "[a-z]"}
	allowed := 0
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.MapOfN(rapid.SampledFrom(names), rapid.SampledFrom(texts), 0, 1).Draw(t, "patterns")
		if len(patterns) == 0 || rapid.Bool().Draw(t, "also a") {
			patterns["a"] = rapid.SampledFrom(texts).Draw(t, "a's")
		}
		text := rapid.SampledFrom([]string{"x", "/srv/x", "/srv/../x", "*", "X", "/srv/x/y"}).AsAny()
		value := rapid.OneOf(text, rapid.Just[any](nil), rapid.IntRange(0, 1).AsAny(),
			rapid.SliceOfN(rapid.SampledFrom([]string{"x", "/srv/x"}), 0, 2).AsAny(), rapid.MapOfN(rapid.SampledFrom([]string{"b", "B"}), rapid.Just("x"), 0, 2).AsAny())
		given := rapid.MapOfN(rapid.SampledFrom([]string{"A", "b"}), value, 0, 2).Draw(t, "arguments")
		given["a"] = rapid.OneOf(text, text, value).Draw(t, "a")
		arguments := string(domain.Encode(given))
		if judgeArguments(t, domain.Allow, patterns, arguments) != domain.Allow {
			return
		}
		allowed++
		if got := judgeArguments(t, domain.Deny, patterns, arguments); got != domain.Deny {
			t.Fatalf("%v allows %s, and denies it: %q", patterns, arguments, got)
		}
	})
	if allowed == 0 {
		t.Error("nothing was allowed")
	}
}

func TestPatternsThatAClientWrites(t *testing.T) {
	many := map[string]string{}
	for _, letter := range "abcdefghijklmnopq" {
		many[string(letter)] = "x"
	}
	for pointer, m := range map[string]domain.Matcher{
		"/matcher/arguments":        {Tool: "read", Arguments: map[string]string{"path": "/a"}},
		"/matcher/arguments ":       {Server: "files", Arguments: many},
		"/matcher/arguments/":       {Server: "files", Arguments: map[string]string{"": "x"}},
		"/matcher/arguments/~1a~02": {Server: "files", Arguments: map[string]string{"/a~2": "x"}},
		"/matcher/arguments/a":      {Server: "files", Arguments: map[string]string{"a": ""}},
		"/matcher/arguments/b":      {Server: "files", Arguments: map[string]string{"b": "{a,b}"}},
		"/matcher/arguments/c":      {Server: "files", Arguments: map[string]string{"c": strings.Repeat("*a", 9)}},
		"/matcher":                  {Agent: "internal", Arguments: map[string]string{}},
	} {
		var refused *domain.Error
		if err := approvals.CheckMatcher(m); !errors.As(err, &refused) || len(refused.Details) != 1 || refused.Details[0].Pointer != strings.TrimSpace(pointer) {
			t.Errorf("%+v: %v", m, err)
		}
	}
	fine := domain.Matcher{Server: "files", Tool: "read", Arguments: map[string]string{"path": "/srv/**", "/to/0": "main"}}
	if err := approvals.CheckMatcher(fine); err != nil {
		t.Error(err)
	}
	if got, want := approvals.Describe(fine), "every call of read of the MCP server files whose argument /to/0 matches “main”, and path matches “/srv/**”"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMatchersAreCompared(t *testing.T) {
	m := domain.Matcher{Server: "files", Arguments: map[string]string{"a": "1", "b": "2"}}
	same, other := m, m
	same.Arguments = maps.Clone(m.Arguments)
	other.Arguments = map[string]string{"a": "1", "b": "3"}
	if !m.Equal(same) || m.Equal(other) || m.Equal(domain.Matcher{Server: "files"}) {
		t.Error("matchers with patterns are compared wrongly")
	}
	none := domain.Matcher{Server: "files", Arguments: map[string]string{}}
	if !none.Equal(domain.Matcher{Server: "files"}) || none.Empty() || !(domain.Matcher{Arguments: map[string]string{}}).Empty() || m.Empty() {
		t.Error("no patterns are none")
	}
	if keys := slices.Sorted(maps.Keys(m.Arguments)); len(keys) != 2 {
		t.Error("comparing changes a matcher")
	}
}

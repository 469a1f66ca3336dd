package jinja

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const limit = 1 << 20

func render(source, variables string) (string, error) {
	budget := NewBudget(context.Background())
	values, err := Decode(json.RawMessage(variables), budget)
	if err != nil {
		return "", err
	}
	text, _, err := Render(source, values, limit, budget)
	return text, err
}

// TestFaults are what people read. Values of variables are in none of them.
func TestFaults(t *testing.T) {
	const variables = `{"name": "hunter2", "rows": [{"id": 7}], "count": 3, "tags": {"team": "hunter2"}, "region": null}`
	for _, c := range []struct{ source, want string }{
		{`{{ nope }}`, `line 1: nope is not defined`},
		{"\n\n{{ rows[0].state }}", `line 3: rows[0].state is not defined`},
		{`{{ tags['a b'].c }}`, `line 1: tags['a b'] is not defined`},
		{`{{ tags[name] }}`, `line 1: a value is not defined`},
		{`{% for row in rows %}{{ row.state }}{% endfor %}`, `line 1: row.state is not defined`},
		{"{% if\n nope %}{% endif %}", `line 2: nope is not defined`},
		{`{{ nope|upper }}`, `line 1: nope is not defined`},
		{`{{ 'a' ~ nope }}`, `line 1: nope is not defined`},
		{`{{ nope is odd }}`, `line 1: nope is not defined`},
		{`{{ name in nope }}`, `line 1: nope is not defined`},
		{`{{ rows|map(attribute='state')|join }}`, `line 1: state is not defined`},
		{`{{ nope() }}`, `line 1: nope is not defined`},
		{`{{ name() }}`, `line 1: a text cannot be called`},
		{`{{ name.shout() }}`, `line 1: a text has no method shout`},
		{`{{ name + 1 }}`, `line 1: + cannot be used between a text and a number`},
		{`{{ -name }}`, `line 1: - cannot be put before a text`},
		{`{{ count|replace('a') }}`, `line 1: replace needs the argument new`},
		{`{{ name|replace('a', 'b', 'c') }}`, `line 1: replace takes 2 arguments, not 3`},
		{`{{ name|upper(x=1) }}`, `line 1: upper takes no argument x`},
		{`{{ name|indent('x') }}`, `line 1: indent needs a whole number, not a text`},
		{`{{ name|int }}`, `line 1: int cannot read a text as a number`},
		{`{% for x in count %}{% endfor %}`, `line 1: a number cannot be gone through`},
		{`{% for a, b in rows %}{% endfor %}`, `line 1: 2 names for something else than a list of 2`},
		{`{{ name|nope }}`, `line 1: there is no filter "nope"`},
		{`{{ name is nope }}`, `line 1: there is no test "nope"`},
		{`{% nope %}`, `line 1: there is no statement "nope"`},
		{`{% include 'x' %}`, `line 1: "include" is not there: a template stands alone`},
		{"a\n{{ name", `line 2: a tag is not closed with }}`},
		{"{% if name %}\n", `line 1: "endif" is missing before the end of the template`},
		{`{% endif %}`, `line 1: there is no statement "endif"`},
		{`{{ }}`, `line 1: "}}" where a value was expected`},
		{`{{ name name }}`, `line 1: "name" where }} was expected`},
		{`{{ (name }}`, `line 1: "}}" where "," was expected`},
		{`{{ rows[ }}`, `line 1: "}}" where a value was expected`},
		{`{{ name; }}`, `line 1: unexpected character ';'`},
		{`{{ "a\qb" }}`, `line 1: unknown escape \q`},
		{`{% for in rows %}`, `line 1: "in" where a name was expected`},
		{`{% set x %}`, `line 1: "endset" is missing before the end of the template`},
		{`{% call name %}{% endcall %}`, `line 1: a call block needs the call of a macro`},
		{`{# open`, `line 1: a comment is not closed with #}`},
		{`{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}`, `line 1: m takes 1 arguments, not 2`},
		{`{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}`, `line 1: a value is not defined`},
	} {
		_, err := render(c.source, variables)
		var fault *FaultError
		if !errors.As(err, &fault) || fault.Error() != c.want {
			t.Errorf("%s: %v, not %s", c.source, err, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		source string
		paths  []string
	}{
		{`text`, nil},
		{`{{ a.b['c d'][0].e }}`, []string{"a.b['c d'][0].e"}},
		{`{{ a["it's"] }}`, []string{`a['it\'s']`}},
		{`{{ a[b].c }}`, []string{"a", "b"}},
		{`{{ a.b.upper() }} {{ a.b[1:] }}`, []string{"a.b"}},
		{`{{ f(x, y=z) }}`, []string{"f", "x", "z"}},
		{`{{ range(3) }} {{ dict(a=b) }}`, []string{"b"}},
		{`{% for x, y in a if x > b %}{{ x }}{{ loop.index }}{% else %}{{ x }}{% endfor %}{{ y }}`, []string{"a", "b", "x", "y"}},
		{`{% set x = a %}{{ x.y }}`, []string{"a"}},
		{`{{ x }}{% set x = x.a %}{{ x.b }}`, []string{"x", "x.a"}},
		{`{% if a %}{% set b = 1 %}{% endif %}{{ b }}`, []string{"a"}},
		{`{% with x = a %}{{ x }}{% endwith %}{{ x }}`, []string{"a", "x"}},
		{`{% macro m(p, q=a) %}{{ p }}{{ q }}{{ caller() }}{{ b }}{% endmacro %}{{ m(c) }}`, []string{"a", "b", "c"}},
		{`{% call(u) m(a) %}{{ u }}{{ b }}{% endcall %}`, []string{"a", "b", "m"}},
		{`{% filter replace(a, b) %}{{ c }}{% endfilter %}`, []string{"a", "b", "c"}},
		{`{{ a is defined }} {{ b|default(c) }} {{ d if e else f }}`, []string{"a", "b", "c", "d", "e", "f"}},
		{`{% raw %}{{ a }}{% endraw %}{# {{ b }} #}`, nil},
		{`{{ 'a' }} {{ true }} {{ none }} {{ x|map(attribute='a') }}`, []string{"x"}},
	} {
		usage, err := inspect(c.source, NewBudget(t.Context()))
		if diff := cmp.Diff(append([]string{}, c.paths...), append([]string{}, usage.Paths...)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", c.source, err, diff)
		}
	}
}

// TestLineBreaksInTags has tags over several lines.
func TestLineBreaksInTags(t *testing.T) {
	text, err := render("{{\n  rows\n  | join(\n    ', '\n  )\n}}{%\nif rows\nand\nnot none\n%}!{%\nendif\n%}\r\n", `{"rows": [1, 2]}`)
	if err != nil || text != "1, 2!" {
		t.Errorf("%q, %v", text, err)
	}
}

// seeds are templates with something of everything.
var seeds = []string{
	`{{ a.b['c'][1:2:3]|join(', ', attribute="x") ~ 1.5e3 // 2 ** -x }}`,
	`{%- for a, (b, c) in d|items if not e recursive -%}{{ loop(a) }}{% else %}{% endfor %}`,
	`{% macro m(a, b=[1, {'x': none}]) %}{{ caller(a) }}{% endmacro %}{% call(u) m(1) %}{% endcall %}`,
	`{% set x | upper %}{% endset %}{% set n.x = 1, 2 %}{% with a = 1 %}{% endwith %}{% raw %}{% endraw -%}`,
	`{% if a is not divisibleby 3 %}{% elif b in c and d not in e %}{% else %}{% endif %}{# c #}{% filter e %}{% endfilter %}`,
	`{% for g in rows|groupby('a', default=0)|sort(reverse=true) %}{{ g.grouper }}{{ g.list|map(attribute='b.0,a', default=s)|list|tojson(2) }}{% endfor %}`,
	`{{ rows|selectattr('a')|unique|batch(2, 'x')|slice(3)|list }}{{ s|title|indent(3, true)|replace('a', s)|split|reverse }}{{ s.split('')|pprint }}`,
	`{{ {1: 2, none: [s|safe, s|e], (1, 2): 2 ** 99}|dictsort(by='value') }}{{ dict(s=1) < {'s': 2} }}{{ n|round(2)|int * 3 % 2 }}{{ s|urlencode|lower }}`,
	`{% set ns = namespace(x=1) %}{% for i in range(9) %}{% set ns.x = [ns.x, ns] %}{{ loop.cycle(1, 2) }}{{ loop.changed(i > 3) }}{% endfor %}{{ ns.x }}`,
}

func FuzzInspect(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		budget := NewBudget(t.Context())
		check(t, source, budget, func() error {
			_, err := inspect(source, budget)
			return err
		})
	})
}

// FuzzRender has a budget that is soon spent. A panic that is no fault ends the test by itself.
func FuzzRender(f *testing.F) {
	const variables = `{"a": {"b": [1, "x", {"c": null}]}, "rows": [{"a": 1, "b": [2]}, {"a": "é", "c": 1.5}, {}], "s": "Ab ßc\n'd", "n": -7.25, "d": {"k": [1, 2]}}`
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		budget := NewBudget(t.Context())
		values, err := Decode(json.RawMessage(variables), budget)
		if err != nil {
			t.Fatal(err)
		}
		budget = NewBudget(t.Context())
		budget.fuel = 50_000
		check(t, source, budget, func() error {
			_, _, err := Render(source, values, 64<<10, budget)
			return err
		})
	})
}

// BenchmarkRender is a small template with everything around it: variables, parser, text.
func BenchmarkRender(b *testing.B) {
	const source = `Check {{ host }} in {{ region|upper }}.{% for row in rows if row.load > 1 %}
{{ loop.index }}. {{ row.state|default('-') }}: {{ row.load }}{% if not loop.last %},{% endif %}{% endfor %}`
	const variables = `{"host": "db-1", "region": "eu", "rows": [{"state": "ok", "load": 0.5}, {"state": "failed", "load": 12.25}, {"state": "ok", "load": 2}]}`
	b.ReportAllocs()
	for b.Loop() {
		if _, err := render(source, variables); err != nil {
			b.Fatal(err)
		}
	}
}

// inspect reads a template and returns the variables that it uses.
func inspect(source string, budget *Budget) (usage Usage, err error) {
	defer catch(new(int), &err)
	_, usage = parse(source, budget)
	return usage, nil
}

package jinja

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestAllocationsAreCharged has templates whose parts make much of little, or much at all. What Go has allocated must
// not be more than what the budget was charged, but for what any render needs.
func TestAllocationsAreCharged(t *testing.T) {
	text := strings.Repeat("ab\\n'<é ", 4_000)
	variables := fmt.Sprintf(`{"s": "%s", "list": [%s1], "rows": [%s{}], "deep": %s%s, "map": {%s"z": 1}, "digits": %s}`, text, strings.Repeat(`"a",`, 4000),
		strings.Repeat(`{"a": 1.5, "b": "x"},`, 1000), strings.Repeat("[", 150), strings.Repeat("]", 150), numbered(`"k%d": [],`, 1000), strings.Repeat("7", 100_000))
	templates := []string{"", `{{ s }}`, `{{ digits }}`, `{{ s|tojson|length }}`, `{{ rows|tojson(indent=100)|length }}`, `{{ deep|pprint|length }}`, `{{ rows|pprint|length }}`,
		`{{ ('x' * 9000000)|length }}`, `{{ ([1] * 90000)|length }}`, `{{ ([list] * 9)|sum|length if false }}`, `{{ (list + list)|length }}`, `{{ range(99999)|length }}`,
		`{{ s|replace('a', 'bbbb')|length }}`, `{{ s|replace('', '-')|length }}`, `{{ s.split('')|length }}`, `{{ s|split|list|length }}`, `{{ s|split('a')|list|length }}`,
		`{{ s|lines|length }}`, `{{ s.splitlines(true)|length }}`, `{{ s|indent(99)|length }}`, `{{ s|e|length }}`, `{{ s|urlencode|length }}`, `{{ map|urlencode|length }}`,
		`{{ s|upper|length }}`, `{{ s|lower|length }}`, `{{ s|title|length }}`, `{{ s|capitalize|length }}`, `{{ s|reverse|length }}`, `{{ s[::-1]|length }}`, `{{ s|list|length }}`,
		`{{ s[5] }}`, `{{ list|sort|length }}`, `{{ rows|sort(attribute='b,a', reverse=true)|length if false }}`, `{{ rows[:-1]|sort(attribute='b,a')|length }}`,
		`{{ rows[:-1]|groupby('a')|length }}`, `{{ rows|groupby('a', default=1)|length }}`, `{{ list|unique|length }}`, `{{ map|unique|length }}`, `{{ map|dictsort|length }}`,
		`{{ map|items|length }}`, `{{ map.values()|length }}`, `{{ list|batch(3, 'x')|length }}`, `{{ [1]|batch(99999, 'x')|length }}`, `{{ list|slice(999, 'x')|length }}`,
		`{{ list|join(s[:50])|length }}`, `{{ list|map('upper')|length }}`, `{{ rows|map(attribute='a', default=1)|length }}`, `{{ rows|selectattr('a')|list|length }}`,
		`{{ list|select('eq', 'a')|length }}`, `{{ dict(map, a=1)|length }}`, `{{ namespace(map).k1 }}`, `{{ map == dict(map) }}`, `{{ rows == rows }}`, `{{ list < list }}`,
		`{% for x in list %}{% set a = x %}{% set b = x %}{% endfor %}`, `{% for x in list %}{% macro m() %}{% endmacro %}{% endfor %}`, `{% for x in list if x %}{% endfor %}`,
		`{% for x in list %}{% set y %}abc{% endset %}{% endfor %}`, `{% for x in list %}{% with a = 1 %}{% endwith %}{% endfor %}`, `{% for x in list[:200] %}{{ s[:x|length] }}{% endfor %}`,
		`{% macro m(a, b=1) %}{{ a }}{% endmacro %}{% for x in list %}{{ m(x) }}{% endfor %}`, `{% macro m() %}{{ caller() }}{% endmacro %}{% for x in list %}{% call m() %}x{% endcall %}{% endfor %}`,
		`{% for x in list recursive %}{% if loop.depth < 2 and loop.first %}{{ loop(list) }}{% endif %}{% endfor %}`, `{% for x in list %}{{ loop.cycle(1, 2) }}{{ loop.changed(x) }}{% endfor %}`,
		`{% for x in list %}{{ [x, {'a': x}, 1.5, 2 ** 99] }}{% endfor %}`, `{% set ns = namespace(a='x') %}{% for i in range(15) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a|length }}`,
		`{% for x in list %}{{ nothing|default(x) }}{{ x.y is defined }}{% endfor %}`, `{% for x in list[:99] %}{{ 'a' in s }}{{ s is lower }}{{ s.count('a') }}{% endfor %}`,
	}
	for _, part := range []string{"(", "[", "[1],", "1,", "a.", "a|e", "a|e|", "'\\n'", "-", "not ", "1+", "a~", "a or ", "a is b ", "m(a=1)", "x"} {
		templates = append(templates, "{{ "+strings.Repeat(part, 60_000/len(part)), "{{ ["+strings.Repeat(part+",", 60_000/(len(part)+1))+"] }}")
	}
	for _, part := range []string{"{{a}}", "{%if 1%}", "{%if 1%}{%endif%}", "{%set a=1%}", "{%do a%}", "{#a#}", "{", "x\n", "{%raw%}{%endraw%}", "{%raw%}", "{%for a in b%}{%endfor%}", "{%macro a()%}{%endmacro%}",
		"{%with%}{%endwith%}", "{%call a()%}{%endcall%}", "{%filter e%}{%endfilter%}", "{{a.b.c['d'][0]}}"} {
		templates = append(templates, strings.Repeat(part, 60_000/len(part)))
	}
	templates = append(templates, numbered("{%% set a%d = b%d %%}", 3000), "{{ ["+numbered("a%d.b,", 5000)+"] }}", "{% set "+numbered("a%d, ", 5000)+"z = list %}",
		"{% macro m("+numbered("a%d, ", 5000)+") %}{% endmacro %}{{ m() }}", "{{ dict("+numbered("a%d=1, ", 5000)+") }}", "{{ a"+strings.Repeat(".bcdefg", 5000)+" }}")
	budget := NewBudget(t.Context())
	var values Variables
	check(t, "decoding", budget, func() (err error) {
		values, err = Decode([]byte(variables), budget)
		return err
	})
	for _, source := range templates {
		budget := NewBudget(t.Context())
		check(t, source, budget, func() error {
			_, _, err := Render(source, values, limit, budget)
			return err
		})
	}
}

// check holds what Go allocates for some work against what a full budget was charged for it.
func check(t *testing.T, what string, budget *Budget, work func() error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := work()
	runtime.ReadMemStats(&after)
	var fault *FaultError
	if err != nil && !errors.As(err, &fault) {
		t.Errorf("%.80s: %v", what, err)
	}
	_, left := budget.Left()
	allocated, charged := int64(after.TotalAlloc-before.TotalAlloc), MaxMemory-max(left, 0)
	if allocated > charged+charged/2+64<<10 {
		t.Errorf("%.80s: %d bytes were allocated and %d charged; %v", what, allocated, charged, err)
	}
}

// numbered repeats a part with a number in it.
func numbered(part string, n int) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(strings.ReplaceAll(strings.ReplaceAll(part, "%d", fmt.Sprint(i)), "%%", "%"))
	}
	return all.String()
}

// patient is a context that ends after somebody has looked at it so often.
type patient struct {
	context.Context
	looks int
}

func (p *patient) Err() error {
	if p.looks--; p.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestTheContextEndsWork has templates that would go on for millions of steps, in one operation or in many.
func TestTheContextEndsWork(t *testing.T) {
	for _, source := range []string{
		`{% for a in range(99999) %}{% for b in 'abc' %}{{ a }}{% endfor %}{% endfor %}`,
		`{{ range(99999)|map('upper')|map('lower')|map('title')|map('trim')|list|sort|length }}`,
		`{{ (('x' * 99999 ~ 'y') * 99)|upper|lower|upper|lower|length }}`,
		`{% macro m(n) %}{% for i in range(9) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endfor %}{% endmacro %}{{ m(30) }}`,
	} {
		ctx := &patient{Context: t.Context(), looks: 3}
		budget := NewBudget(ctx)
		values, err := Decode(nil, budget)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Render(source, values, limit, budget)
		if left, _ := budget.Left(); !errors.Is(err, context.DeadlineExceeded) || left < MaxFuel/2 {
			t.Errorf("%s: %v, with %d steps left", source, err, left)
		}
	}
}

// TestWorkIsCharged has templates that make nothing and never end, or not in a lifetime.
func TestWorkIsCharged(t *testing.T) {
	const loops = `{% for a in range(99999) %}{% for b in some %}`
	variables := []byte(`{"s": "` + strings.Repeat("ab", 5000) + `", "list": [1, 2, 3], "map": {"a": 1, "b": 2}, "some": [` + strings.Repeat("1,", 999) + `1]}`)
	for _, inside := range []string{
		``, `x`, `{{ '' }}`, `{% set x = a %}`, `{% if a %}{% endif %}`, `{% do a == b %}`, `{% do 'a' in s %}`, `{% do s|length %}`, `{% do s == s %}`, `{% do s is lower %}`,
		`{% do s.count('a') %}`, `{% do list == list %}`, `{% do list|length %}`, `{% do list|max %}`, `{% do list|sum %}`, `{% do list.count('a') %}`, `{% do s|trim('ab') %}`,
		`{% do 1 + 1 %}`, `{% do list|first %}`, `{% do map.b %}`, `{% do a or b %}`, `{% do a if b else a %}`,
	} {
		budget := NewBudget(t.Context())
		values, err := Decode(variables, budget)
		if err != nil {
			t.Fatal(err)
		}
		budget.fuel = 200_000
		_, _, err = Render(loops+inside+`{% endfor %}{% endfor %}`, values, limit, budget)
		var fault *FaultError
		if !errors.As(err, &fault) || fault.Message != tooMuch {
			t.Errorf("%s: %v", inside, err)
		}
	}
}

// TestDepthIsBounded has values that only a template can make, and everything that walks through them.
func TestDepthIsBounded(t *testing.T) {
	const deep = `{% set ns = namespace(a=1, b=1) %}{% for i in range(999) %}{% set ns.a = [ns.a] %}{% set ns.b = {'x': ns.b} %}{% endfor %}`
	for _, use := range []string{
		`{{ ns.a }}`, `{{ ns.b }}`, `{{ ns.a|tojson }}`, `{{ ns.b|tojson(indent=9) }}`, `{{ ns.a|pprint }}`, `{{ ns.a == [ns.a] }}`, `{{ ns.b < {'x': ns.b} }}`,
		`{{ [ns.a, [ns.a]]|sort }}`, `{{ ns.a in [[ns.a]] }}`, `{{ {ns.a: 1, [ns.a]: 2} }}`, `{{ [ns.a]|unique }}`, `{{ 'x' ~ ns.a }}`, `{{ ns.a|upper }}`, `{{ [ns.a, [ns.a]]|max }}`,
	} {
		_, err := render(deep+use, `{}`)
		var fault *FaultError
		if !errors.As(err, &fault) || fault.Message != "a value has more than 200 levels" {
			t.Errorf("%s: %v", use, err)
		}
	}
	if _, err := render(`{{ x }}`, `{"x": `+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`); err == nil {
		t.Error("variables of 5,000 levels are read")
	}
}

// TestMemoryIsBorrowed has a lender who has little.
func TestMemoryIsBorrowed(t *testing.T) {
	var lent int64
	budget := NewBudget(t.Context())
	budget.Borrow = func(bytes int64) bool {
		lent += bytes
		return lent <= 4<<20
	}
	values, err := Decode(nil, budget)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Render(`{{ ('x' * 900000)|length }}`, values, limit, budget); err != nil || lent != 0 {
		t.Errorf("a small template borrows %d bytes: %v", lent, err)
	}
	if _, _, err := Render(`{{ ('x' * 3000000)|length }}`, values, limit, budget); err != nil || lent < 2_000_000 {
		t.Errorf("a large one borrows %d bytes: %v", lent, err)
	}
	if _, _, err := Render(`{{ ('x' * 9000000)|length }}`, values, limit, budget); !errors.Is(err, ErrBusy) {
		t.Errorf("where there is no memory: %v", err)
	}
}

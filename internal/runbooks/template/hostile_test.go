package template

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// hostile are templates that are meant to end the server, to hold it up, or to tell what is none of their business. Each
// must be refused, alone.
var hostile = map[string]string{
	"endless macro":                   `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`,
	"macros that call each other":     `{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}`,
	"macro as its own argument":       `{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}`,
	"caller that calls itself":        `{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}`,
	"macro with many calls":           `{% macro m(n) %}{% for i in range(9) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endfor %}{% endmacro %}{{ m(30) }}{{ nothing }}`,
	"endless recursive loop":          `{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}`,
	"200k parentheses":                `{{ ` + strings.Repeat("(", 200_000) + "1" + strings.Repeat(")", 200_000) + ` }}`,
	"200k brackets":                   `{{ ` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + ` }}`,
	"250k minus signs":                `{{ ` + strings.Repeat("-", 250_000) + `1 }}`,
	"60k nots":                        `{{ ` + strings.Repeat("not ", 60_000) + `1 }}`,
	"deep targets":                    `{% for ` + strings.Repeat("(", 100_000) + `a in b %}{% endfor %}`,
	"deep blocks":                     strings.Repeat("{% if 1 %}", 20_000),
	"deep inline ifs":                 `{{ 1` + strings.Repeat(" if 1 else 1", 20_000) + ` }}`,
	"100k attributes":                 `{{ name` + strings.Repeat(".a", 100_000) + ` }}`,
	"100k filters":                    `{{ nothing` + strings.Repeat("|e", 100_000) + ` }}`,
	"100k additions":                  `{{ ` + strings.Repeat("1+", 100_000) + `'a' }}`,
	"list that holds itself":          `{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}`,
	"list that holds itself, as JSON": `{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns|tojson }}`,
	"text that doubles":               `{% set ns = namespace(a='xxxxxxxx') %}{% for i in range(60) %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}`,
	"list that doubles":               `{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}{% endfor %}{{ ns.a }}`,
	"growing replace":                 `{% set ns = namespace(a='xxxx') %}{% for i in range(60) %}{% set ns.a = ns.a|replace('x', 'xxxx') %}{% endfor %}{{ ns.a }}`,
	"growing join":                    `{% set ns = namespace(a='xxxx') %}{% for i in range(60) %}{% set ns.a = [1, 2, 3]|join(ns.a) %}{% endfor %}{{ ns.a }}`,
	"growing escape":                  `{% set ns = namespace(a='&&&&') %}{% for i in range(60) %}{% set ns.a = ns.a|e %}{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}`,
	"growing indent":                  `{% set ns = namespace(a='a\nb') %}{% for i in range(99999) %}{% set ns.a = ns.a|indent(99999) %}{% endfor %}{{ ns.a }}`,
	"text times a billion":            `{{ 'x' * 9223372036854775807 }}`,
	"text times 2 GB":                 `{{ ('x' * 2000000000)|length }}{{ nothing }}`,
	"list times a billion":            `{{ [1] * 1000000000 }}`,
	"center":                          `{{ 'x'|center(1000000000) }}`,
	"center as a method":              `{{ 'x'.center(1000000000) }}`,
	"ljust":                           `{{ 'x'.ljust(1000000000) }}`,
	"batch with fill":                 `{{ [1]|batch(1000000000, 'x')|list|length }}{{ nothing }}`,
	"slice with fill":                 `{{ [1]|slice(1000000000, 'x') }}`,
	"range of a billion":              `{% for i in range(1000000000) %}{% endfor %}`,
	"range without an end":            `{{ range(0, 9223372036854775807, 1) }}`,
	"nested empty loops":              `{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}`,
	"loops that only set":             `{% for a in range(99999) %}{% for b in range(99999) %}{% set x = a * b %}{% endfor %}{% endfor %}`,
	"loops in a condition":            `{% for a in range(99999) if range(99999)|sum == 1 %}{% endfor %}`,
	"sorting again and again":         `{% for a in range(99999) %}{% set x = range(99999)|sort(reverse=true) %}{% endfor %}`,
	"long output":                     `{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}`,
	"lipsum":                          `{{ lipsum(n=100000000) }}`,
	"cycler":                          `{{ cycler() }}`,
	"joiner":                          `{{ joiner('x')() }}`,
	"include of itself":               `{% include '/' %}`,
	"include of a file":               `{% include '/etc/passwd' %}`,
	"import of a file":                `{% import '/etc/passwd' as x %}`,
	"from of a file":                  `{% from '/etc/passwd' import x %}`,
	"extends":                         `{% extends '/etc/passwd' %}`,
	"block that holds itself":         `{% block a %}{{ self.a() }}{% endblock %}`,
	"the engine's self":               `{{ self }}`,
	"division by zero":                `{{ 1 // 0 }}`,
	"modulo by zero":                  `{{ 1 % 0 }}`,
	"smallest number by minus one":    `{{ (0 - 9223372036854775807 - 1) // -1 }}{{ nothing }}`,
	"power of a power":                `{{ 9 ** 9 ** 9 ** 9 ** 9 }}`,
	"huge exponent":                   `{{ 2 ** 9223372036854775807 }}`,
	"huge round":                      `{{ nothing|round(999999999) }}`,
	"unexported field of a loop":      `{% for x in [1] %}{{ loop.recurseFn }}{% endfor %}`,
	"exported field of a loop":        `{% for x in [1] %}{{ loop.PrevItem }}{% endfor %}`,
	"Go method of a loop":             `{% for x in [1] %}{{ loop.GetAttribute('index') }}{% endfor %}`,
	"Go method of a text":             `{{ name.String() }}`,
	"Go method of a map":              `{{ tags.Keys() }}`,
	"Go method of a namespace":        `{{ namespace().Interface() }}`,
	"Go field of a macro":             `{% macro m() %}{% endmacro %}{{ m.renderer.Environment }}`,
	"Python's way out":                `{{ ''.__class__.__mro__[1].__subclasses__() }}`,
	"globals of a function":           `{{ range.__globals__ }}`,
	"change of the caller's map":      `{% set tags.z = 5 %}`,
	"change through a method":         `{% do tags.update({'z': 5}) %}`,
	"change through pop":              `{% do tags.pop('team') %}`,
	"append to the caller's list":     `{% do hosts.append(1) %}`,
	"printf bomb":                     `{{ '%999999999d'|format(1) }}`,
	"format bomb":                     `{{ '{:999999999}'.format(1) }}`,
	"format of attributes":            `{{ '{0.__class__}'.format(name) }}`,
	"expandtabs":                      `{{ '\t'.expandtabs(1000000000) }}`,
	"zfill":                           `{{ '1'.zfill(1000000000) }}`,
	"wordwrap":                        `{{ name|wordwrap(-1) }}`,
	"truncate":                        `{{ name|truncate(-1) }}`,
	"attribute of everything":         `{{ hosts|map(attribute='__class__')|list }}`,
	"filter that does not exist":      `{{ name|system }}`,
	"map with an operator of ours":    `{{ [1]|map(':variable')|list }}`,
	"name of ours":                    "{{ \x00item }}",
	"not UTF-8":                       "{{ \xff\xfe }}",
	"unclosed text":                   `{{ 'abc }}`,
	"unclosed tag":                    `{{ name`,
	"unclosed block":                  `{% for a in hosts %}`,
	"nothing but an opening":          `{%`,
	"raw without an end":              `{% raw %}` + strings.Repeat("{%", 50_000),
	"negative step":                   `{{ hosts[::0] }}`,
	"huge index":                      `{{ hosts[99999999999999999999] }}`,
	"environment":                     `{{ env.PATH }}`,
}

func TestHostileTemplates(t *testing.T) {
	renderer := NewRenderer()
	const variables = `{"name": "hunter2", "tags": {"team": "hunter2"}, "hosts": ["hunter2"]}`
	for title, source := range hostile {
		text, err := render(t, renderer, source, variables)
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: it gives %.80q, %v", title, text, err)
			continue
		}
		if message := domain.FailureOf(err).Message; strings.Contains(message, "hunter2") {
			t.Errorf("%s: the error shows a value: %s", title, message)
		}
		if text, err := render(t, renderer, `{{ tags.team }} {{ hosts|length }}`, variables); err != nil || text != "hunter2 1" {
			t.Fatalf("after %s: %q, %v", title, text, err)
		}
	}
}

func TestHostileVariables(t *testing.T) {
	renderer := NewRenderer()
	for title, variables := range map[string]string{
		"deep lists":   `{"x": ` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}`,
		"many numbers": `{"x": [` + strings.Repeat("0,", 4_000_000) + `0]}`,
		"too long":     `{"x": "` + strings.Repeat("x", MaxVariables) + `"}`,
		"a list":       `[1]`,
		"null":         `null`,
		"no JSON":      `{"x": }`,
		"two values":   `{} {}`,
	} {
		text, err := render(t, renderer, `{{ x|tojson|length * nothing }}`, variables)
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %q, %v", title, text, err)
		}
	}
}

func TestManyHostileTemplatesAtOnce(t *testing.T) {
	renderer := NewRenderer()
	ended := make(chan error)
	for range 20 {
		go func() {
			_, err := renderer.Render(context.Background(), tenant, json.RawMessage(`{}`), Template{Name: "/prompt", Source: `{% for a in range(9) %}{{ 'x' * 900000000 }}{% endfor %}`})
			ended <- err
		}()
	}
	for range 20 {
		if err := <-ended; domain.CodeOf(err) != domain.CodeInvalid {
			t.Error(err)
		}
	}
}

package sandbox

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"signoff/internal/domain"
)

func TestNothingWorksMeansRefused(t *testing.T) {
	s := &Sandbox{kind: KindNone}
	_, err := s.Run(t.Context(), domain.Command{Argv: []string{"true"}, Dir: t.TempDir()}, io.Discard)
	if domain.CodeOf(err) != domain.CodeSandboxUnavailable || !strings.Contains(err.Error(), "isolation: none") {
		t.Errorf("error %v", err)
	}
}

func TestUnknownModeIsAnError(t *testing.T) {
	if _, err := New(t.Context(), Config{Mode: "docker"}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("error %v", err)
	}
}

func TestNew(t *testing.T) {
	for _, mode := range []Mode{"", ModeAuto, ModeBubblewrap, ModeNamespaces, ModeOff} {
		s, err := New(t.Context(), Config{Mode: mode, Survey: true})
		works := map[Kind]bool{}
		for _, probe := range s.Report().Probes {
			works[probe.Kind] = probe.Works
			if !strings.HasSuffix(probe.Detail, ".") {
				t.Errorf("%s: %q is not a sentence", probe.Kind, probe.Detail)
			}
		}
		switch {
		case mode == "" || mode == ModeAuto:
			if err != nil || s.Name() == "off" || (s.Name() == "none") == (works[KindBubblewrap] || works[KindNamespaces]) {
				t.Errorf("auto became %s, %v", s.Name(), err)
			}
		case works[Kind(mode)] != (err == nil), err == nil && s.Name() != string(mode):
			t.Errorf("%s became %s, %v", mode, s.Name(), err)
		}
		short, failed := New(t.Context(), Config{Mode: mode})
		if short.Name() != s.Name() || (failed == nil) != (err == nil) || short.processes != s.processes {
			t.Errorf("without a survey %q became %s, %v, and not %s", mode, short.Name(), failed, s.Name())
		}
		tried := 2 // the one that is taken, and off, in which processes run
		if mode == ModeOff {
			tried = 1
		}
		if probes := short.Report().Probes; works[KindBubblewrap] && works[KindNamespaces] && len(probes) != tried {
			t.Errorf("%q tried %+v", mode, probes)
		}
		t.Logf("%q: %s %+v", mode, s.Name(), s.Report().Probes)
	}
}

func TestGuards(t *testing.T) {
	dir := t.TempDir()
	s := &Sandbox{config: Config{Hidden: []string{dir, "/", dir + "/missing"}, ReadOnly: []string{dir + "-twin"}}}
	none, _, err := s.guards(dir, domain.Command{})
	if err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
	if got, want := parents("a/b/c"), []string{"a", "a/b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("parents: %v", got)
	}
}

// TestGuardsWithinGuards: what is mounted later must not undo what was mounted before, nor miss the place that it is to lie on.
func TestGuardsWithinGuards(t *testing.T) {
	for name, test := range map[string]struct{ added, want []guard }{
		"parents are pinned":          {[]guard{{"a/b/c", readOnly}}, []guard{{"a", pinned}, {"a/b", pinned}, {"a/b/c", readOnly}}},
		"the stricter one counts":     {[]guard{{"a", hidden}, {"a", readOnly}}, []guard{{"a", hidden}}},
		"whatever the order":          {[]guard{{"a", readOnly}, {"a", hidden}}, []guard{{"a", hidden}}},
		"a parent that is read-only":  {[]guard{{"a/b", readOnly}, {"a", readOnly}}, []guard{{"a", readOnly}}},
		"nothing in a hidden folder":  {[]guard{{"a/b/c", readOnly}, {"a", hidden}, {"a/d", hidden}}, []guard{{"a", hidden}}},
		"hidden in a read-only one":   {[]guard{{"a/b/c", hidden}, {"a", readOnly}}, []guard{{"a", readOnly}, {"a/b/c", hidden}}},
		"all of the workspace":        {[]guard{{"-x/y", readOnly}, {".", readOnly}, {"b/c", hidden}}, []guard{{".", readOnly}, {"b/c", hidden}}},
		"a part of the system":        {[]guard{{"/etc/ssl", hidden}, {"a", readOnly}}, []guard{{"/etc/ssl", hidden}, {"a", readOnly}}},
		"the system in the system":    {[]guard{{"/etc/ssl", hidden}, {"/etc", hidden}}, []guard{{"/etc", hidden}}},
		"a name that begins the same": {[]guard{{"a", hidden}, {"a-b", readOnly}}, []guard{{"a", hidden}, {"a-b", readOnly}}},
	} {
		var all guards
		for _, g := range test.added {
			all.add(g.Path, g.As)
		}
		if got := all.needed(); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

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
	if domain.CodeOf(err) != domain.CodeSandboxUnavailable || !strings.Contains(err.Error(), "SIGNOFF_SANDBOX=off") {
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
		s, err := New(t.Context(), Config{Mode: mode})
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
		t.Logf("%q: %s %+v", mode, s.Name(), s.Report().Probes)
	}
}

func TestGuards(t *testing.T) {
	dir := t.TempDir()
	none, err := Config{Hidden: []string{dir, "/", dir + "/missing"}, ReadOnly: []string{dir + "-twin"}}.guards(dir)
	if err != nil || len(none) > 0 {
		t.Errorf("%v, %v", none, err)
	}
	if got, want := parents("a/b/c"), []string{"a", "a/b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("parents: %v", got)
	}
}

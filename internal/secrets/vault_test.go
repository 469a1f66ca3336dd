package secrets_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

func github1() secrets.Secret {
	return secrets.Secret{Name: "github", From: "GITHUB_TOKEN", Variable: "GH_TOKEN", Value: canary}
}

func TestAVaultGivesByName(t *testing.T) {
	vault, err := secrets.NewVault(github1(), secrets.Secret{Name: "db.read-only_1", Variable: "PGPASSWORD", Value: "several\nlines"},
		secrets.Secret{Name: "gone", From: "GONE_KEY", Variable: "GONE"})
	if err != nil {
		t.Fatal(err)
	}
	if got := vault.Names(); !slices.Equal(got, []string{"db.read-only_1", "github", "gone"}) {
		t.Error(got)
	}
	if !vault.Has("gone") || vault.Has("GitHub") {
		t.Error("it has others than it was given")
	}
	got, err := vault.Environment([]string{"github", "db.read-only_1", "github"})
	if err != nil || !slices.Equal(got, []string{"GH_TOKEN=" + canary, "PGPASSWORD=several\nlines"}) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := vault.Environment(nil); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	infos := vault.Secrets()
	if len(infos) != 3 || infos[1] != (secrets.Info{Name: "github", From: "GITHUB_TOKEN", Variable: "GH_TOKEN", Available: true}) || infos[2].Available {
		t.Errorf("%+v", infos)
	}
}

// TestASecretThatIsNotThereIsAnError, never an empty value: a command would go on as nobody, or ask somebody.
func TestASecretThatIsNotThereIsAnError(t *testing.T) {
	vault, err := secrets.NewVault(github1(), secrets.Secret{Name: "gone", From: "GONE_KEY", Variable: "GONE"}, secrets.Secret{Name: "lost", Variable: "LOST"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"gitlab": `There is no secret "gitlab"; there are github, gone, lost.`,
		"gone":   `The secret "gone" has no value: the variable GONE_KEY was empty when the server started.`,
		"lost":   `The secret "lost" has no value: what holds it was empty when the server started.`,
	} {
		got, err := vault.Environment([]string{"github", name})
		if domain.CodeOf(err) != domain.CodeUnknownSecret || domain.FailureOf(err).Message != want || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := (*secrets.Vault)(nil).Environment([]string{"a"}); err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Error(err)
	}
}

func TestWhatAVaultDoesNotTake(t *testing.T) {
	with := func(change func(*secrets.Secret)) []secrets.Secret {
		s := github1()
		change(&s)
		return []secrets.Secret{s}
	}
	variable := func(name string) []secrets.Secret {
		return with(func(s *secrets.Secret) { s.Variable = name })
	}
	for name, c := range map[string]struct {
		list []secrets.Secret
		at   string
	}{
		"no name":          {with(func(s *secrets.Secret) { s.Name = "" }), "/secrets/"},
		"a strange name":   {with(func(s *secrets.Secret) { s.Name = "a/b~" }), "/secrets/a~1b~0"},
		"a line break":     {with(func(s *secrets.Secret) { s.Name = "a\n" }), "/secrets/a\n"},
		"a long name":      {with(func(s *secrets.Secret) { s.Name = strings.Repeat("a", 101) }), "/secrets/" + strings.Repeat("a", 101)},
		"a short value":    {with(func(s *secrets.Secret) { s.Value = " 12345\n" }), "/secrets/github"},
		"a byte 0":         {with(func(s *secrets.Secret) { s.Value = "123456\x00" }), "/secrets/github"},
		"no variable":      {variable(""), "/secrets/github/as"},
		"an assignment":    {variable("A=B"), "/secrets/github/as"},
		"a digit first":    {variable("1A"), "/secrets/github/as"},
		"PATH":             {variable("PATH"), "/secrets/github/as"},
		"HOME":             {variable("HOME"), "/secrets/github/as"},
		"IFS":              {variable("IFS"), "/secrets/github/as"},
		"BASH_ENV":         {variable("BASH_ENV"), "/secrets/github/as"},
		"LD_PRELOAD":       {variable("LD_PRELOAD"), "/secrets/github/as"},
		"the server's":     {variable("SIGNOFF_TOKEN"), "/secrets/github/as"},
		"a name twice":     {append(variable("OTHER"), github1()), "/secrets/github"},
		"a variable twice": {append(with(func(s *secrets.Secret) { s.Name = "other" }), github1()), "/secrets/github/as"},
	} {
		_, err := secrets.NewVault(c.list...)
		var coded *domain.Error
		if domain.CodeOf(err) != domain.CodeInvalid || !errors.As(err, &coded) || coded.Details[0].Pointer != c.at {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), canary) || strings.Contains(fmt.Sprint(err), "12345") {
			t.Errorf("%s: the value is in %v", name, err)
		}
	}
}

func TestASecretDoesNotPrintItself(t *testing.T) {
	vault, err := secrets.NewVault(github1())
	if err != nil {
		t.Fatal(err)
	}
	s := github1()
	for _, value := range []any{s, &s, []secrets.Secret{s}, vault, struct{ V *secrets.Vault }{vault}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if got := fmt.Sprintf(verb, value); strings.Contains(got, canary) || strings.Contains(got, "63616e617279") {
				t.Errorf("%s of %T is %s", verb, value, got)
			}
		}
		if got, err := json.Marshal(value); err != nil || strings.Contains(string(got), canary) {
			t.Errorf("%T in JSON is %s, %v", value, got, err)
		}
	}
}

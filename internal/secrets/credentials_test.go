package secrets_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/secrets"
)

// TestCredentials: what is masked of files as well-known programs write them, and what stays readable.
func TestCredentials(t *testing.T) {
	inBase64 := base64.StdEncoding.EncodeToString
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END KEY-----\n"
	for name, one := range map[string]struct {
		content string
		hidden  []string
		shown   []string
	}{
		"kubeconfig": {
			"apiVersion: v1\nclusters:\n- cluster: {server: 'https://api.corp.example:6443'}\n  name: production-cluster-one\nusers:\n- name: ann-the-operator\n" +
				"  user:\n    token: abcdef.0123456789abcdef\n    client-key-data: " + inBase64([]byte(pem)) + "\n    tokenFile: /var/run/token\n",
			[]string{"abcdef.0123456789abcdef", inBase64([]byte(pem)), "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"},
			[]string{"https://api.corp.example:6443", "production-cluster-one", "ann-the-operator", "/var/run/token"},
		},
		"YAML of several documents": {"a: 1\n---\nsecret: {deep: [first-value, 'second value']}\npassword: 0123456\n", []string{"first-value", "second value", "0123456"}, nil},
		"a block of YAML":           {"passphrase: |\n  four words of it\nother: text-that-stays\n", []string{"four words of it"}, []string{"text-that-stays"}},
		"docker":                    {`{"auths": {"registry.example": {"auth": "` + inBase64([]byte("ann:correct-horse")) + `"}}}`, []string{inBase64([]byte("ann:correct-horse")), "correct-horse"}, []string{"registry.example"}},
		"a service account": {
			`{"type": "service_account", "private_key": "` + strings.ReplaceAll(pem, "\n", `\n`) + `", "token_uri": "https://oauth2.example.com/token", "client_email": "robot@example.com"}`,
			[]string{"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"}, []string{"https://oauth2.example.com/token", "robot@example.com"},
		},
		"a webhook under a secret name": {"secret_url: https://hooks.example.com/services/T0AB/B0CD/xYz123\n", []string{"https://hooks.example.com/services/T0AB/B0CD/xYz123"}, nil},
		"INI": {
			"; comment\n[default]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG\nregion = eu-central-1\n#old_password=before-this-one\n",
			[]string{"wJalrXUtnFEMI/K7MDENG", "before-this-one"}, []string{"eu-central-1"},
		},
		"npmrc":           {"registry=https://npm.example.com/\n//npm.example.com/:_authToken=npm-token-of-ann\n", []string{"npm-token-of-ann"}, []string{"https://npm.example.com/"}},
		"variables":       {"export DB_PASSWORD='pass with space'\nDB_HOST=db.corp.example.internal\n", []string{"pass with space"}, []string{"db.corp.example.internal"}},
		"netrc":           {"machine git.example.com\nlogin ann\npassword hunter22\n", []string{"hunter22"}, []string{"git.example.com"}},
		"pgpass":          {"db.corp:5432:*:ann:short-pw\n", []string{"short-pw", "db.corp:5432:*:ann:short-pw"}, nil},
		"a key":           {pem, []string{"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"}, nil},
		"a bare token":    {"0123456789abcdef0123\n", []string{"0123456789abcdef0123"}, nil},
		"no known field":  {"sigil: 0123456789abcdef0123\nmode: fast\n", []string{"0123456789abcdef0123"}, []string{"mode: fast"}},
		"prose in a YAML": {"# the token rotation happens weekly\ntoken: abcdefghijk\n", []string{"abcdefghijk"}, []string{"rotation happens weekly"}},
	} {
		values, err := secrets.Credentials([]byte(one.content))
		must(t, err)
		masker := secrets.NewMasker(values...)
		for _, hidden := range one.hidden {
			for _, form := range []string{hidden, inBase64([]byte(hidden))} {
				if got := masker.MaskString("it says " + form + " here"); strings.Contains(got, form) {
					t.Errorf("%s: %q stays; known are %q", name, form, values)
				}
			}
		}
		for _, shown := range one.shown {
			if got := masker.MaskString(shown); got != shown {
				t.Errorf("%s: %q became %q; known are %q", name, shown, got, values)
			}
		}
	}
}

func TestAFileOfTooManyCredentials(t *testing.T) {
	var content strings.Builder
	for i := range secrets.MaxCredentials + 1 {
		fmt.Fprintf(&content, "0123456789abcdef-%d\n", i)
	}
	if values, err := secrets.Credentials([]byte(content.String())); domain.CodeOf(err) != domain.CodeEnvironmentUnavailable {
		t.Errorf("%d values, %v", len(values), err)
	}
}

// TestMaskersLearn: a file that rotates has its new values masked, and its last ones.
func TestMaskersLearn(t *testing.T) {
	masker := secrets.NewMasker("known-at-the-start")
	open := secrets.NewStream(masker)
	mask := func(i int) bool {
		value := fmt.Sprintf("version-%d-of-it", i)
		return masker.MaskString(value) != value
	}
	for i := range 20 {
		masker.Learn("/etc/file", fmt.Sprintf("version-%d-of-it", i))
		masker.Learn("/etc/file", fmt.Sprintf("version-%d-of-it", i))
		if !mask(i) || i > 0 && !mask(i-1) {
			t.Fatalf("version %d", i)
		}
	}
	if !mask(4) || mask(3) {
		t.Error("it remembers more, or less, than the last sixteen")
	}
	masker.Learn("/etc/other", "another-value")
	if got := masker.MaskString("known-at-the-start another-value version-19-of-it"); got != "[masked] [masked] [masked]" {
		t.Error(got)
	}
	if got := open.Write("known-at-the-start") + open.Close(); got != "[masked]" {
		t.Errorf("a stream that was open forgot: %s", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

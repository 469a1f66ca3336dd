package secrets_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"signoff/internal/secrets"
)

// The keys are put together from pieces, so that nobody's scanner takes this file for a leak.
const (
	openAI    = "sk-" + "test-0123456789abcdef"
	anthropic = "sk-" + "ant-api03-AbCdEf0123456789_-xyz"
	github    = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
	pat       = "github_" + "pat_11ABCDEFG0123456789_abcdefghijklmnop"
	google    = "AIza" + "SyA0123456789abcdefghijklmnopqrstuv"
	aws       = "AKIA" + "IOSFODNN7EXAMPLE"
	slack     = "xox" + "b-123456789012-abcdefABCDEF"
	ourToken  = "sgn" + "_0123456789abcdef_0123456789abcdef0123456789abcdef"
	token     = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
)

func TestShapesOfKeys(t *testing.T) {
	for text, want := range map[string]string{
		"key " + openAI + " end":                             "key [masked] end",
		anthropic:                                            "[masked]",
		`{"key":"` + github + `"}`:                           `{"key":"[masked]"}`,
		"token=" + pat:                                       "token=[masked]",
		"?key=" + google + "&x=1":                            "?key=[masked]&x=1",
		aws + ":" + slack:                                    "[masked]:[masked]",
		"jwt " + token + ".":                                 "jwt [masked].",
		"Authorization: Bearer abcdefghijkl12345":            "Authorization: Bearer [masked]",
		`"authorization":"bearer ` + token + `"`:             `"authorization":"bearer [masked]"`,
		`line\n` + openAI:                                    `line\n[masked]`,
		ourToken + "!":                                       "[masked]!",
		"jwt " + token[:30] + "abc":                          "jwt [masked]",
		"a\n" + block + "\nb":                                "a\n[masked]\nb",
		"+" + block[:70] + "\"":                              "+[masked]\"",
		`"` + strings.ReplaceAll(block, "\n", `\n`) + `\nb"`: `"[masked]\nb"`,
		"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----.": "[masked].",
		block + block: "[masked][masked]",
		"postgres://me:pass%20word@db.example:5432/x": "postgres://me:[masked]@db.example:5432/x",
		"redis://:p@ss:word@[::1]:6379":               "redis://:[masked]@[::1]:6379",
		`{"url":"https:\/\/me:password@host\/"}`:      `{"url":"https:\/\/me:[masked]@host\/"}`,
		"curl https://me:$1password@host":             "curl https://me:$1password@host",
		"a://me:{x@b c://me:{a-b}@d":                  "a://me:[masked]@b c://me:[masked]@d",
		"a://me:{{x}@b c://me:${}@d e://me:xx@f":      "a://me:[masked]@b c://me:[masked]@d e://me:[masked]@f",
		"a://me:%sx@b c://me:x*x@d e://me:%73x@f":     "a://me:[masked]@b c://me:[masked]@d e://me:[masked]@f",
		"sk-ssh-ed25519-cert-v01x@openssh.com":        "[masked]@openssh.com",
		"sk-ecdsa-sha2-nistp256-0123456789":           "[masked]",
		"sk-ecdsa-sha2-nistp2567":                     "[masked]",
	} {
		if got := (*secrets.Masker)(nil).MaskString(text); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	for _, text := range []string{
		"", "s", "sk-", "task-0123456789abcdef0123", "risk-assessment-of-2024-and-2025", "sk-learn-compatible-estimators",
		"ghp_short", "AKIAIOSFODNN7EXAMPLEISMUCHLONGER", "the Bearer authentication", "Bearer of good news",
		"eyJhbGciOi is no token", "eyJhbGciOiJI.abc.def", "eyJhbGciOiJI.eyJ", "Bearer ", "eyJ.eyJ.eyJ",
		"https://example.org:8080/a?b=c:d@e", "http://[::1]:80/", "git@example.org:a/b.git", "ssh://git@example.org:22/a", "https://me@host",
		"psql postgres://$USER:${PASSWORD}@db", "postgres://me:%s@h/db", "postgres://me:%v@h/db", "postgres://me:{{password}}@h/db", "postgres://me:<password>@h/db",
		"postgres://me:xxx@h/db", "postgres://me:XXXXXX@h/db", "postgres://me:***@h/db", "postgres://me:...@h/db", "postgres://me:…@h/db",
		"sk-ecdsa-sha2-nistp256@openssh.com AAAA", "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com,sk-ssh-ed25519-cert-v01@openssh.com", "sk-ssh-ed25519@openssh.com", "sk-ssh-ed25519-cert-v01",
		"postgres://user:{password}@db", "https://user:@host", "://", "a://b:c/d@e",
		"grep -e '-----BEGIN RSA PRIVATE KEY-----' -r", "----------------",
		"-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA0123456789\n-----END CERTIFICATE-----", "-----BEGIN ", "sgn_short",
		`{"sessionId":"01997c3e-7c4b-7d11-8d5e-123456789abc"}`,
	} {
		if got := (*secrets.Masker)(nil).MaskString(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestFormsOfAValue(t *testing.T) {
	const value = "pass \"word\"/+<&>\t9?"
	masker := secrets.NewMasker(value)
	plainJSON := new(bytes.Buffer)
	encoder := json.NewEncoder(plainJSON)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]string{"k": value}); err != nil {
		t.Fatal(err)
	}
	escaped, err := json.Marshal(map[string]string{"k": value})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as it is":       value,
		"JSON":           string(escaped),
		"JSON of others": plainJSON.String(),
		"query":          "https://example.org/?a=" + url.QueryEscape(value) + "&b=1",
		"path":           "https://example.org/" + url.PathEscape(value),
		"base64":         base64.StdEncoding.EncodeToString([]byte(value)),
		"base64url":      base64.RawURLEncoding.EncodeToString([]byte(value)),
	} {
		got := masker.MaskString(text)
		if !strings.Contains(got, secrets.Masked) || strings.Contains(got, "word") || len(got) >= len(text)+len(secrets.Masked) {
			t.Errorf("%s: %s became %s", name, text, got)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
			t.Errorf("%s: %s is no JSON any more", name, got)
		}
	}
}

// TestFormsThatProgramsWrite: each is the whole of what a program makes of the value.
func TestFormsThatProgramsWrite(t *testing.T) {
	const value, long = `Grüße & "K<3y'/+`, "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789-abcdefghijklmnopqrstuvwxyz"
	masker := secrets.NewMasker("\n"+value+" \n", long)
	for name, text := range map[string]string{
		"URL, small hex":        `Gr%c3%bc%c3%9fe+%26+%22K%3c3y%27%2f%2b`,
		"path, small hex":       `Gr%c3%bc%c3%9fe%20&%20%22K%3c3y%27%2f+`,
		"Python":                `Gr%C3%BC%C3%9Fe%20%26%20%22K%3C3y%27/%2B`,
		"JavaScript":            `Gr%C3%BC%C3%9Fe%20%26%20%22K%3C3y'%2F%2B`,
		"JSON, twice":           `Grüße & \\\"K<3y'/+`,
		"JSON of Go, twice":     `Grüße \\u0026 \\\"K\\u003c3y'/+`,
		"JSON of Python":        `Gr\u00fc\u00dfe & \"K<3y'/+`,
		"JSON, capital hex":     `Gr\u00FC\u00DFe & \"K<3y'/+`,
		"HTML of Go":            `Grüße &amp; &#34;K&lt;3y&#39;/+`,
		"HTML of Python":        `Grüße &amp; &quot;K&lt;3y&#x27;/+`,
		"HTML of PHP":           `Grüße &amp; &quot;K&lt;3y&#39;/+`,
		"XML":                   `Grüße &amp; &quot;K&lt;3y&apos;/+`,
		"hex":                   "4772c3bcc39f65202620224b3c3379272f2b",
		"capital hex":           "4772C3BCC39F65202620224B3C3379272F2B",
		"base64 of echo":        "R3LDvMOfZSAmICJLPDN5Jy8rCg==",
		"a line of base64":      base64.StdEncoding.EncodeToString([]byte(long))[:76],
		"a line of openssl":     base64.StdEncoding.EncodeToString([]byte(long))[64:128],
		"the last of its lines": base64.StdEncoding.EncodeToString([]byte(long))[76:],
	} {
		if got := masker.MaskString("<" + text + ">"); got != "<[masked]>" {
			t.Errorf("%s: %s became %s", name, text, got)
		}
	}
}

func TestBasicAuthorizationIsFound(t *testing.T) {
	const password = "correct-horse-battery"
	masker := secrets.NewMasker(password)
	for _, user := range []string{"a", "me", "you", "somebody"} {
		text := "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password+"\n"))
		got := masker.MaskString(text)
		if !strings.Contains(got, secrets.Masked) || len(got) > len("Basic [masked]")+8+8 {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func TestOverlapsLeaveNoRest(t *testing.T) {
	masker := secrets.NewMasker("abcdef123", "123xyz789", "abcdef", "short")
	for text, want := range map[string]string{
		"<abcdef123xyz789>":   "<[masked]>",
		"<abcdef>":            "<[masked]>",
		"abcdefabcdef123":     "[masked][masked]",
		"short":               "short",
		"Bearer abcdef123456": "Bearer [masked]",
	} {
		if got := masker.MaskString(text); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

func TestLinesOfALongValue(t *testing.T) {
	line := strings.Repeat("Ab3/", 16)
	masker := secrets.NewMasker("-----BEGIN KEY-----\n" + line + "\nend\n-----END KEY-----\n")
	if got := masker.MaskString("read: " + line); got != "read: [masked]" {
		t.Error(got)
	}
}

func TestNothingFoundCostsNothing(t *testing.T) {
	masker := secrets.NewMasker("a-secret-of-ours", openAI)
	text := []byte(strings.Repeat(`{"jsonrpc":"2.0","method":"session/update","params":{"text":"a secret sky"}}`, 10))
	if allocations := testing.AllocsPerRun(10, func() { masker.Mask(text) }); allocations > 0 {
		t.Errorf("%v allocations", allocations)
	}
	if got := masker.Mask(text); &got[0] != &text[0] {
		t.Error("the text was copied")
	}
}

func TestTheTextIsNotChanged(t *testing.T) {
	text := []byte("a " + github + " b")
	before := string(text)
	(*secrets.Masker)(nil).Mask(text)
	if string(text) != before {
		t.Errorf("it is %s now", text)
	}
}

// TestHostileTextTakesNoLonger would not end in a lifetime if a run were read again from each of its parts on.
func TestHostileTextTakesNoLonger(t *testing.T) {
	masker := secrets.NewMasker("a-secret-of-ours")
	for _, part := range []string{"sk-", "sk-a", "Bearer ", "://", "://a:b", "a:b@", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----", "AKIAABCDEFGHIJKLMNOPsk-", "eyJ.", "eyJabcdef.", "ghp_", "xoxb-", `\n`, "a-secret-of-our", "sk-ssh-ed25519-", "sk-ecdsa-sha2-nistp256-cert-v01", "://a:{{{{", "://a:{}@", "://a:xxx"} {
		text := bytes.Repeat([]byte(part), 200_000)
		masker.Mask(text)
	}
}

// TestWhatIsMaskedStays: texts go through several maskers on their way, and a second one finds nothing that the first
// should have.
func TestWhatIsMaskedStays(t *testing.T) {
	masker := secrets.NewMasker("masked", "a-value-of-ours", "[masked")
	for text, want := range map[string]string{
		"a-value-of-ours" + openAI + " " + aws: "[masked][masked] [masked]",
		"Bearer " + token:                      "Bearer [masked]",
		"https://me:password@host":             "https://me:[masked]@host",
	} {
		once := masker.MaskString(text)
		if twice := masker.MaskString(once); once != want || twice != once {
			t.Errorf("%s became %s, and then %s", text, once, twice)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("value-1", "other value", "before ", " after")
	f.Add("abcabcabc", "bcabcabca", "a", "bcabc")
	f.Add(openAI, aws, "Bearer ", "==")
	f.Fuzz(func(t *testing.T, one, two, before, after string) {
		masker := secrets.NewMasker(one, two)
		text := before + one + two + after + one
		got := masker.MaskString(text)
		for _, value := range []string{one, two} {
			// What stands for a secret may itself look like a part of one.
			if len(strings.TrimSpace(value)) < secrets.MinLength || strings.ContainsAny(value, secrets.Masked) {
				continue
			}
			if strings.Contains(got, value) {
				t.Errorf("%q is left in %q", value, got)
			}
		}
		if shapeless := (*secrets.Masker)(nil).MaskString(before); len(shapeless) > len(before)+len(secrets.Masked)*len(before) {
			t.Errorf("%q grew to %q", before, shapeless)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	values := make([]string, 20)
	for i := range values {
		values[i] = strings.Repeat(string(rune('a'+i)), 3) + "-secret-value-0123456789"
	}
	masker := secrets.NewMasker(values...)
	text := []byte(strings.Repeat(`{"jsonrpc":"2.0","method":"session/update","params":{"text":"a secret sky, sk-"}}`, 10_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		masker.Mask(text)
	}
}

package secrets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"signoff/internal/secrets"
)

// formats are the handlers that the server uses.
var formats = map[string]func(io.Writer) slog.Handler{
	"text": func(out io.Writer) slog.Handler { return slog.NewTextHandler(out, nil) },
	"json": func(out io.Writer) slog.Handler { return slog.NewJSONHandler(out, nil) },
}

// logged is what one use of a logger leaves.
func logged(t *testing.T, format string, use func(*slog.Logger)) string {
	t.Helper()
	var out bytes.Buffer
	use(slog.New(secrets.NewHandler(formats[format](&out), secrets.NewMasker(canary, "20240102", "2031-02-03"))))
	return out.String()
}

const canary = "canary-of-ours"

type (
	speaker struct{ text string }
	pair    struct {
		Name  string
		Value []string
	}
	valuer  struct{ text string }
	panicky struct{}
)

func (s *speaker) String() string     { return s.text }
func (v valuer) LogValue() slog.Value { return slog.GroupValue(slog.String("of "+v.text, v.text)) }
func (panicky) Error() string         { panic(canary) }

func TestNothingGoesPastTheHandler(t *testing.T) {
	for name, use := range map[string]func(*slog.Logger){
		"message":  func(l *slog.Logger) { l.Info("it is " + canary) },
		"string":   func(l *slog.Logger) { l.Info("m", "k", canary) },
		"key":      func(l *slog.Logger) { l.Info("m", canary, 1) },
		"error":    func(l *slog.Logger) { l.Info("m", "k", fmt.Errorf("a: %w", errors.New(canary))) },
		"stringer": func(l *slog.Logger) { l.Info("m", "k", &speaker{canary}) },
		"bytes":    func(l *slog.Logger) { l.Info("m", "k", []byte(canary)) },
		"raw JSON": func(l *slog.Logger) { l.Info("m", "k", json.RawMessage(`{"a":"`+canary+`"}`)) },
		"struct":   func(l *slog.Logger) { l.Info("m", "k", pair{canary, []string{canary}}) },
		"map":      func(l *slog.Logger) { l.Info("m", "k", map[string]any{canary: canary}) },
		"valuer":   func(l *slog.Logger) { l.Info("m", "k", valuer{canary}) },
		"group": func(l *slog.Logger) {
			l.Info("m", slog.Group("g"+canary, "k", slog.GroupValue(slog.Any("k", errors.New(canary)))))
		},
		"number":     func(l *slog.Logger) { l.Info("m", "k", 20240102, "u", uint64(20240102)) },
		"time":       func(l *slog.Logger) { l.Info("m", "k", time.Date(2031, 2, 3, 0, 0, 0, 0, time.UTC)) },
		"a panic":    func(l *slog.Logger) { l.Info("m", "k", panicky{}) },
		"with":       func(l *slog.Logger) { l.With(canary, canary, "e", errors.New(canary)).Info("m") },
		"with group": func(l *slog.Logger) { l.WithGroup("g "+canary).With("k", canary).Info("m", "k", canary) },
		"standard":   func(l *slog.Logger) { slog.NewLogLogger(l.Handler(), slog.LevelWarn).Print("http: " + canary) },
		"cut in two": func(l *slog.Logger) { l.Info("m", "k", strings.Repeat("x", secrets.MostLogged-5)+canary) },
		"encoded":    func(l *slog.Logger) { l.Info("m", "k", `{\"a\":\"63616e6172792d6f662d6f757273\"}`) },
	} {
		for format := range formats {
			got := logged(t, format, use)
			if strings.Contains(got, "canary") || strings.Contains(got, "20240102") || strings.Contains(got, "2031-02-03") || strings.Contains(got, "63616e") {
				t.Errorf("%s, %s: %s", name, format, got)
			}
			if !strings.Contains(got, "[mask") {
				t.Errorf("%s, %s: nothing is masked in %s", name, format, got)
			}
		}
	}
}

func TestWhatIsNoSecretIsLoggedAsItWas(t *testing.T) {
	use := func(l *slog.Logger) {
		l.WithGroup("g").With("a", 1).Info("Grüße 10\u00a0€", "n", 2.5, "b", true, "d", time.Second, "e", errors.New("why"), slog.Group("", "s", "t"))
	}
	var plain bytes.Buffer
	use(slog.New(formats["json"](&plain)))
	got := logged(t, "json", use)
	_, got, _ = strings.Cut(got, "level")
	if _, want, _ := strings.Cut(plain.String(), "level"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOneLineEach: what an agent says is logged as what it is, not as lines of its own, and terminals do nothing on it.
func TestOneLineEach(t *testing.T) {
	const hostile = "a\nlevel=ERROR msg=forged\r\x1b[31mred\x9b\u009b1m\u202etxet\u2066\u2028\x7f\x00"
	for format := range formats {
		got := logged(t, format, func(l *slog.Logger) { l.With(hostile, hostile).Info(hostile, hostile, errors.New(hostile)) })
		if strings.Count(got, "\n") != 1 || strings.ContainsAny(got[:len(got)-1], "\r\n\x00\x1b\x7f\u009b\u202e\u2066\u2028") {
			t.Errorf("%s: %q", format, got)
		}
		if format == "json" && !json.Valid([]byte(got)) {
			t.Errorf("no JSON: %s", got)
		}
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("é", 5<<20)
	for format := range formats {
		got := logged(t, format, func(l *slog.Logger) { l.Info(long, "k", long, "e", errors.New(long)) })
		if len(got) > 3*(secrets.MostLogged+100)+200 || !strings.Contains(got, "é… (10485760 bytes)") {
			t.Errorf("%s: %d bytes are logged", format, len(got))
		}
	}
}

func TestTheNewMaskerTakesThePlaceOfTheOld(t *testing.T) {
	var out bytes.Buffer
	first := secrets.NewHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}), secrets.NewMasker("value-1"))
	second := secrets.NewHandler(first, secrets.NewMasker("value-2"))
	slog.New(second).Warn("value-1 value-2")
	if got := out.String(); !strings.Contains(got, "value-1 [masked]") {
		t.Error(got)
	}
	if second.Enabled(context.Background(), slog.LevelInfo) {
		t.Error("the level of the handler behind does not count")
	}
}

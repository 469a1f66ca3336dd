package secrets

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Handler is a log handler that masks all that goes through it: messages, keys, and values of every kind. It makes each
// text fit for a line, too: it is cut to [MostLogged] bytes, and letters that steer a terminal or turn the direction
// of writing are spelled out. Line breaks are left to the handler behind it, since those of slog escape them.
type Handler struct {
	inner  slog.Handler
	masker *Masker
}

// MostLogged is how much of one text is logged, in bytes.
const MostLogged = 16 << 10

// NewHandler returns a handler in front of inner. Where inner is one of these, the new masker takes the place of its
// masker.
func NewHandler(inner slog.Handler, m *Masker) slog.Handler {
	if other, ours := inner.(*Handler); ours {
		inner = other.inner
	}
	return &Handler{inner: inner, masker: m}
}

var _ slog.Handler = (*Handler)(nil)

// Masker returns the masker, for output beside the log.
func (h *Handler) Masker() *Masker { return h.masker }

// Enabled asks the handler behind.
func (h *Handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.inner.Enabled(ctx, level)
}

// Handle masks a record and hands it on.
func (h *Handler) Handle(ctx context.Context, record slog.Record) error {
	masked := slog.NewRecord(record.Time, record.Level, h.text(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(h.attr(a))
		return true
	})
	return h.inner.Handle(ctx, masked)
}

// WithAttrs masks attributes once, for all records to come.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &Handler{inner: h.inner.WithAttrs(h.attrs(attrs)), masker: h.masker}
}

// WithGroup opens a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &Handler{inner: h.inner.WithGroup(h.text(name)), masker: h.masker}
}

func (h *Handler) attrs(attrs []slog.Attr) []slog.Attr {
	masked := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = h.attr(a)
	}
	return masked
}

// attr masks an attribute. What is no text is kept as it is while its text needs no masking: a number stays a number.
func (h *Handler) attr(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindGroup:
		value = slog.GroupValue(h.attrs(value.Group())...)
	case slog.KindString:
		value = slog.StringValue(h.text(value.String()))
	case slog.KindAny:
		value = slog.StringValue(h.text(printed(value.Any())))
	default:
		text := value.String()
		if masked := h.text(text); masked != text {
			value = slog.StringValue(masked)
		}
	}
	return slog.Attr{Key: h.text(a.Key), Value: value}
}

// printed is the text of a value: the message of an error, the string of a Stringer. A value that panics says so.
func printed(value any) string {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		return string(v.Bytes())
	}
	return fmt.Sprintf("%+v", value)
}

// text masks before it cuts, so that no beginning of a secret is left.
func (h *Handler) text(text string) string { return cut(visible(h.masker.MaskString(text))) }

func cut(text string) string {
	if len(text) <= MostLogged {
		return text
	}
	end := MostLogged
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:end], len(text))
}

// visible escapes invisible characters. The JSON handler escapes the control characters of ASCII alone, and a terminal
// obeys others.
func visible(text string) string {
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var all strings.Builder
	for _, r := range text {
		if unseen(r) {
			fmt.Fprintf(&all, `\u%04x`, r)
		} else {
			all.WriteRune(r)
		}
	}
	return all.String()
}

func unseen(r rune) bool { return r >= 0x7f && !unicode.IsGraphic(r) }

package store

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// micros is how a time is stored. A time that is nil is null.
func micros(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMicro()
}

func timeOf(us int64) time.Time { return time.UnixMicro(us).UTC() }

func optionalTime(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	t := timeOf(us.Int64)
	return &t
}

// text makes s fit for both engines: Postgres keeps neither a NUL nor what is not UTF-8.
func text(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// optionalText is null for the empty string.
func optionalText(s string) any {
	if s == "" {
		return nil
	}
	return text(s)
}

// rawJSON is nil for the empty string.
func rawJSON(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// encode writes our own structs as JSON, without the escapes for old browsers.
func encode(v any) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return "", fmt.Errorf("store: encode %T: %w", v, err)
	}
	return text(strings.TrimSuffix(buffer.String(), "\n")), nil
}

func decode(column string, data string, into any) error {
	if err := json.Unmarshal([]byte(data), into); err != nil {
		return fmt.Errorf("store: column %s: %w", column, err)
	}
	return nil
}

// decodeOptional leaves into as it is where the column is null.
func decodeOptional(column string, data sql.NullString, into any) error {
	if !data.Valid {
		return nil
	}
	return decode(column, data.String, into)
}

// optional reads a column with JSON; nil where it is null.
func optional[T any](column string, data sql.NullString) (value *T, err error) {
	err = decodeOptional(column, data, &value)
	return value, err
}

// encodeOptional is null for nil.
func encodeOptional[T any](value *T) (any, error) {
	if value == nil {
		return nil, nil
	}
	return encode(value)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

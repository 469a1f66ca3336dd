package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

func display(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	var out strings.Builder
	write(&out, value)
	return out.String()
}

func write(out *strings.Builder, value any) {
	switch v := value.(type) {
	case nil:
		out.WriteString("none")
	case bool, int:
		fmt.Fprint(out, v)
	case float64:
		out.WriteString(displayFloat(v))
	case bigNumber:
		out.WriteString(string(v))
	case string:
		writeQuoted(out, v)
	case []any:
		writeList(out, v)
	case map[string]any:
		writeMap(out, v)
	case *namespace:
		writeMap(out, v.fields)
	case *undefined:
		v.print()
	case *macro:
		out.WriteString("<macro " + v.title() + ">")
	case *function:
		out.WriteString("<function " + v.name + ">")
	default:
		out.WriteString("<loop>")
	}
}

func writeList(out *strings.Builder, list []any) {
	out.WriteByte('[')
	for i, item := range list {
		if i > 0 {
			out.WriteString(", ")
		}
		write(out, item)
	}
	out.WriteByte(']')
}

func writeMap(out *strings.Builder, values map[string]any) {
	out.WriteByte('{')
	for i, key := range keys(values) {
		if i > 0 {
			out.WriteString(", ")
		}
		writeQuoted(out, key)
		out.WriteString(": ")
		write(out, values[key])
	}
	out.WriteByte('}')
}

var quoted = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, 0: `\0`}

func writeQuoted(out *strings.Builder, s string) {
	out.WriteByte('"')
	for _, r := range s {
		switch escaped, special := quoted[r]; {
		case special:
			out.WriteString(escaped)
		case !unicode.IsPrint(r):
			fmt.Fprintf(out, `\u{%x}`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
}

func displayFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	written := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.Contains(written, ".") {
		return written
	}
	return written + ".0"
}

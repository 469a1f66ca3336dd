package jinja

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// toJSON keeps numbers as they are displayed, and the order of keys; as MiniJinja it writes what HTML might mistake as
// escapes.
func toJSON(c *call) any {
	var out strings.Builder
	step := ""
	if c.has(0) {
		if n, isNumber := c.args[0].(int); isNumber {
			step = strings.Repeat(" ", min(max(n, 0), 100))
		} else if c.flag(0) {
			step = "  "
		}
	}
	writeJSON(&out, c.in, step, "")
	return out.String()
}

func writeJSON(out *strings.Builder, value any, step, margin string) {
	switch v := value.(type) {
	case nil:
		out.WriteString("null")
	case string:
		writeJSONString(out, v)
	case float64:
		out.WriteString(jsonFloat(v))
	case bool, int, bigNumber, *undefined:
		out.WriteString(display(v))
	case []any:
		between(out, '[', ']', len(v), step, margin, func(i int, margin string) { writeJSON(out, v[i], step, margin) })
	case map[string]any:
		names := keys(v)
		between(out, '{', '}', len(v), step, margin, func(i int, margin string) {
			writeJSONString(out, names[i])
			out.WriteByte(':')
			if step != "" {
				out.WriteByte(' ')
			}
			writeJSON(out, v[names[i]], step, margin)
		})
	case *namespace:
		writeJSON(out, v.fields, step, margin)
	default:
		failf("%s cannot be written as JSON", title(value))
	}
}

func jsonFloat(f float64) string {
	switch size := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return "null"
	case size >= 1e16 || size < 1e-5 && size > 0:
		return strings.Replace(strconv.FormatFloat(f, 'e', -1, 64), "e+", "e", 1)
	}
	return display(f)
}

// between writes n elements between brackets, one a line where there is a step to indent by.
func between(out *strings.Builder, open, end byte, n int, step, margin string, element func(i int, margin string)) {
	inner := margin + step
	out.WriteByte(open)
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		if step != "" {
			out.WriteString("\n" + inner)
		}
		element(i, inner)
	}
	if step != "" && n > 0 {
		out.WriteString("\n" + margin)
	}
	out.WriteByte(end)
}

var htmlSafe = strings.NewReplacer("'", `\u0027`)

func writeJSONString(out *strings.Builder, s string) {
	encoded, err := json.Marshal(s)
	if err != nil {
		failf("a text cannot be written as JSON")
	}
	out.WriteString(htmlSafe.Replace(string(encoded)))
}

// pretty is display with a line for each element.
func pretty(value any, depth int) string {
	var out strings.Builder
	margin := strings.Repeat("    ", depth)
	switch v := value.(type) {
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		out.WriteByte('[')
		for i := range v {
			out.WriteString("\n" + margin + "    " + pretty(v[i], depth+1) + ",")
		}
		out.WriteString("\n" + margin + "]")
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		out.WriteByte('{')
		for _, key := range keys(v) {
			out.WriteString("\n" + margin + "    ")
			writeQuoted(&out, key)
			out.WriteString(": " + pretty(v[key], depth+1) + ",")
		}
		out.WriteString("\n" + margin + "}")
	default:
		write(&out, value)
	}
	return out.String()
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"

func percent(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if strings.IndexByte(unreserved, s[i]) >= 0 {
			out.WriteByte(s[i])
			continue
		}
		const hex = "0123456789ABCDEF"
		out.Write([]byte{'%', hex[s[i]>>4], hex[s[i]&15]})
	}
	return out.String()
}

// urlencode escapes a text, or makes a query of a map.
func urlencode(c *call) any {
	values, ok := c.in.(map[string]any)
	if !ok {
		return percent(c.inDisplayed())
	}
	var parts []string
	for _, key := range keys(values) {
		parts = append(parts, percent(key)+"="+percent(display(values[key])))
	}
	return strings.Join(parts, "&")
}

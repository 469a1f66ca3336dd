package domain

import "bytes"

// MaxDepth is how many levels a foreign JSON document may have. Each list and each object is one.
//
// Recursive readers of JSON overflow their stack after a few hundred levels: one call with ten thousand brackets for arguments, which nobody had
// even allowed, made the list with it unreadable for every client.
const MaxDepth = 64

// TooDeep reports whether a document has more than [MaxDepth] levels. It does not check that the document is JSON.
func TooDeep(document []byte) bool {
	if bytes.Count(document, []byte("["))+bytes.Count(document, []byte("{")) <= MaxDepth { // nearly all that comes
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

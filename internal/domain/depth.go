package domain

import "bytes"

// MaxDepth is how many levels a JSON document of somebody else may have, each list and each object in it being one.
//
// Readers of JSON that call themselves for each level come to the end of their stack somewhere behind a few hundred: one call
// with ten thousand brackets for arguments, which nobody had even allowed, and no client could read the list that it stood in.
const MaxDepth = 64

// TooDeep reports whether a document has more than [MaxDepth] levels. Whether it is JSON otherwise, others look at.
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

package secrets

// rest matches the text after the prefix of a kind of key.
type rest interface {
	// match matches the text from i on. While it may still become a key, more is true, unless end says that nothing follows the
	// text. Later text never changes its result, so that a text in pieces is judged as a whole
	// one is.
	match(text []byte, i int, end bool) (f find, more bool)
}

// horizon is how far it is read to tell whether something is a key. What has not shown it by then is none, or else a
// stream would have to wait for as long as somebody likes.
const horizon = 8 << 10

// holds reports whether part stands at i, or whether the text ends before that can be told.
func holds(text []byte, i int, part string) (fits, cut bool) {
	if left := len(text) - i; left < len(part) {
		return false, string(text[i:]) == part[:left]
	}
	return string(text[i:i+len(part)]) == part, false
}

// run is a row of random letters.
type run struct {
	of    func(byte) bool
	least int  // bytes
	most  int  // where the run is longer, it is no such key; 0: any
	digit bool // a word of a text has none: sk-learn-compatible-estimators
}

// undecided is how far a run is read for its digit.
const undecided = 512

func (r *run) match(text []byte, i int, end bool) (f find, more bool) {
	digit := !r.digit
	for to := i; ; to++ {
		length := to - i
		enough := length >= r.least && digit
		switch {
		case enough && r.most == 0:
			return grown(i, text, to, end, r), false
		case to == len(text) && !end:
			return find{}, true
		case to == len(text) || !r.of(text[to]):
			if enough {
				return find{from: i, to: to}, false
			}
			return find{}, false
		case r.most > 0 && length == r.most || length == undecided:
			return find{}, false
		}
		digit = digit || text[to] >= '0' && text[to] <= '9'
	}
}

func (r *run) grow(text []byte, i int, end bool) (to int, next grower) {
	i += length(text[i:], r.of)
	if i == len(text) && !end {
		return i, r
	}
	return i, nil
}

// length is how many bytes of a kind a text begins with.
func length(text []byte, of func(byte) bool) int {
	for i, c := range text {
		if !of(c) {
			return i
		}
	}
	return len(text)
}

// free reports whether a word may begin at i. A dash belongs to the word before it, so that a run of dashes and letters is
// read once and not from each of its dashes on. In JSON, a line break before a key is a backslash and an n.
func free(text []byte, i int) bool {
	if i == 0 || !dashed(text[i-1]) {
		return true
	}
	return i > 1 && text[i-2] == '\\' && (text[i-1] == 'n' || text[i-1] == 't' || text[i-1] == 'r')
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }

func word(c byte) bool { return letter(c) || c == '_' }

func dashed(c byte) bool { return word(c) || c == '-' }

func capital(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }

// token are the bytes that RFC 6750 allows after "Bearer ".
func token(c byte) bool { return dashed(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=' }

package secrets

// shape is what a kind of key looks like: a prefix that says whose it is, and then what follows.
type shape struct {
	prefix string
	rest   rest
	inside bool // it may begin within a word
	keep   bool // the prefix is no part of the secret, and stays
}

// rest is what follows the prefix of a kind of key.
type rest interface {
	// match looks at what begins at i. While that may still become a key, more is true: unless end says that nothing
	// will follow the text. What it says never changes with what follows, so that a text in pieces is judged as a whole
	// one is.
	match(text []byte, i int, end bool) (f find, more bool)
}

// horizon is how far it is read to tell whether something is a key. What has not shown it by then is none, or else a
// stream would have to wait for as long as somebody likes.
const horizon = 8 << 10

var shapes = []shape{
	{prefix: "sk-", rest: publicOr{&run{of: dashed, least: 16, digit: true}}}, // OpenAI, Anthropic, OpenRouter and others
	{prefix: "ghp_", rest: &run{of: word, least: 30}},                         // GitHub
	{prefix: "gho_", rest: &run{of: word, least: 30}},
	{prefix: "ghu_", rest: &run{of: word, least: 30}},
	{prefix: "ghs_", rest: &run{of: word, least: 30}},
	{prefix: "ghr_", rest: &run{of: word, least: 30}},
	{prefix: "github_pat_", rest: &run{of: word, least: 30}},
	{prefix: "glpat-", rest: &run{of: dashed, least: 20}},             // GitLab
	{prefix: "AIza", rest: &run{of: dashed, least: 30}},               // Google
	{prefix: "ya29.", rest: &run{of: dashed, least: 20}},              // Google, OAuth
	{prefix: "AKIA", rest: &run{of: capital, least: 16, most: 16}},    // AWS
	{prefix: "ASIA", rest: &run{of: capital, least: 16, most: 16}},    // AWS, for a while
	{prefix: "xoxa-", rest: &run{of: dashed, least: 10, digit: true}}, // Slack
	{prefix: "xoxb-", rest: &run{of: dashed, least: 10, digit: true}},
	{prefix: "xoxp-", rest: &run{of: dashed, least: 10, digit: true}},
	{prefix: "xoxr-", rest: &run{of: dashed, least: 10, digit: true}},
	{prefix: "xoxs-", rest: &run{of: dashed, least: 10, digit: true}},
	{prefix: "hf_", rest: &run{of: word, least: 30}},  // Hugging Face
	{prefix: "npm_", rest: &run{of: word, least: 36}}, // npm
	{prefix: "sgn_", rest: &run{of: word, least: 40}}, // our own
	{prefix: "Bearer ", rest: bearer, keep: true},
	{prefix: "bearer ", rest: bearer, keep: true},
	{prefix: "BEARER ", rest: bearer, keep: true},
	{prefix: jwt, rest: webToken{}},
	{prefix: "-----BEGIN ", rest: privateKey{}, inside: true},
	{prefix: "://", rest: login{}, inside: true, keep: true},
	{prefix: `:\/\/`, rest: login{}, inside: true, keep: true}, // as some encoders of JSON write it
}

var bearer = &run{of: token, least: 12, digit: true}

// key looks for a key that begins at i, where a word begins or not.
func key(text []byte, i int, begins, end bool) (f find, more bool) {
	for _, s := range shapes {
		if s.prefix[0] != text[i] || !begins && !s.inside {
			continue
		}
		fits, cut := holds(text, i, s.prefix)
		if cut && !end {
			return find{}, true
		}
		if !fits {
			continue
		}
		f, more = s.rest.match(text, i+len(s.prefix), end)
		if f.to > 0 && !s.keep {
			f.from = i
		}
		return f, more
	}
	return find{}, false
}

// holds tells whether part stands at i, or whether the text ends before that can be told.
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

// free tells whether a word may begin at i. A dash belongs to the word before it, so that a run of dashes and letters is
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

// token is what RFC 6750 allows after "Bearer ".
func token(c byte) bool { return dashed(c) || c == '.' || c == '~' || c == '+' || c == '/' || c == '=' }

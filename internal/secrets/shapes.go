package secrets

// shape is what a kind of key looks like: a prefix that says whose it is, and then a run of random letters.
type shape struct {
	prefix string
	rest   func(byte) bool
	least  int  // bytes of the rest
	most   int  // where the run is longer, it is no such key; 0: any
	digit  bool // a word of a text has none: sk-learn-compatible-estimators
	keep   bool // the prefix is no part of the secret, and stays
}

var shapes = []shape{
	{prefix: "sk-", rest: dashed, least: 16, digit: true}, // OpenAI, Anthropic, OpenRouter and others
	{prefix: "ghp_", rest: word, least: 30},               // GitHub
	{prefix: "gho_", rest: word, least: 30},
	{prefix: "ghu_", rest: word, least: 30},
	{prefix: "ghs_", rest: word, least: 30},
	{prefix: "ghr_", rest: word, least: 30},
	{prefix: "github_pat_", rest: word, least: 30},
	{prefix: "glpat-", rest: dashed, least: 20},             // GitLab
	{prefix: "AIza", rest: dashed, least: 30},               // Google
	{prefix: "ya29.", rest: dashed, least: 20},              // Google, OAuth
	{prefix: "AKIA", rest: capital, least: 16, most: 16},    // AWS
	{prefix: "ASIA", rest: capital, least: 16, most: 16},    // AWS, for a while
	{prefix: "xoxa-", rest: dashed, least: 10, digit: true}, // Slack
	{prefix: "xoxb-", rest: dashed, least: 10, digit: true},
	{prefix: "xoxp-", rest: dashed, least: 10, digit: true},
	{prefix: "xoxr-", rest: dashed, least: 10, digit: true},
	{prefix: "xoxs-", rest: dashed, least: 10, digit: true},
	{prefix: "hf_", rest: word, least: 30},  // Hugging Face
	{prefix: "npm_", rest: word, least: 36}, // npm
	{prefix: "Bearer ", rest: token, least: 12, digit: true, keep: true},
	{prefix: "bearer ", rest: token, least: 12, digit: true, keep: true},
	{prefix: "BEARER ", rest: token, least: 12, digit: true, keep: true},
	{prefix: jwt, rest: dashed},
}

// jwt begins every JSON Web Token: it is the base64 of `{"`. Three parts with dots between them follow.
const jwt = "eyJ"

// key looks for a key at i; to is 0 where there is none.
func key(text []byte, i int) (from, to int) {
	if !free(text, i) {
		return 0, 0
	}
	for _, s := range shapes {
		if len(s.prefix) > len(text)-i || string(text[i:i+len(s.prefix)]) != s.prefix {
			continue
		}
		begin := i + len(s.prefix)
		if s.prefix == jwt {
			return i, token3(text, i)
		}
		if end := s.run(text, begin); end > 0 {
			if s.keep {
				return begin, end
			}
			return i, end
		}
	}
	return 0, 0
}

// run returns the end of the rest that begins at i, or 0.
func (s shape) run(text []byte, i int) (end int) {
	digit := !s.digit
	for end = i; end < len(text) && s.rest(text[end]); end++ {
		digit = digit || text[end] >= '0' && text[end] <= '9'
	}
	if length := end - i; length < s.least || !digit || s.most > 0 && length > s.most {
		return 0
	}
	return end
}

// token3 returns the end of the JSON Web Token that begins at i, or 0. Its signature may be empty.
func token3(text []byte, i int) (end int) {
	const least = 6
	head := stretch(text, i)
	if head-i < least || head+len(jwt) >= len(text) || text[head] != '.' || string(text[head+1:head+1+len(jwt)]) != jwt {
		return 0
	}
	claims := stretch(text, head+1)
	if claims-head < least || claims >= len(text) || text[claims] != '.' {
		return 0
	}
	return stretch(text, claims+1)
}

func stretch(text []byte, i int) int {
	for i < len(text) && dashed(text[i]) {
		i++
	}
	return i
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

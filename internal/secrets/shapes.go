package secrets

// shape describes a kind of key: a prefix that names its vendor, and the text after it.
type shape struct {
	prefix string
	rest   rest
	inside bool // it may begin within a word
	keep   bool // the prefix is no part of the secret, and stays
}

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

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// marker begins the lines of a prompt that are steps.
const marker = "#! "

// verb is one word of the script language; the package comment of acptest says what each of them does. Its usage is its
// grammar, too: parse reads it.
//
//	ID           a word that has to be there
//	[SIZE]       a word that may be there
//	[ARG...]     any number of words
//	[kind=KIND]  may stand anywhere behind the required words
//	TEXT, [TEXT] the rest of the line
//	STEP         the rest of the line, which is a step
type verb struct {
	name, usage string
	run         func(*turn, args) error
}

// args are what stands behind a verb.
type args struct {
	words []string
	named map[string]string
	text  string
	step  *step
}

// word returns the word at i, or instead.
func (a args) word(i int, instead string) string {
	if i < len(a.words) {
		return a.words[i]
	}
	return instead
}

// number returns the word at i as a number, or instead.
func (a args) number(i, instead int) (int, error) {
	if i >= len(a.words) {
		return instead, nil
	}
	n, err := strconv.Atoi(a.words[i])
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number", a.words[i])
	}
	return n, nil
}

// json returns the word at i as JSON, or instead.
func (a args) json(i int, instead string) (json.RawMessage, error) { return asJSON(a.word(i, instead)) }

func asJSON(text string) (json.RawMessage, error) {
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%q is not JSON", text)
	}
	return json.RawMessage(text), nil
}

// asValue takes what is not JSON for a string.
func asValue(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return mustJSON(text)
}

type step struct {
	verb *verb
	args args
}

func (s *step) run(t *turn) error {
	if err := s.verb.run(t, s.args); err != nil {
		return fmt.Errorf("%s: %w", s.verb.name, err)
	}
	return nil
}

// parsePrompt returns the steps in a prompt's text.
func parsePrompt(text string) (steps []*step, err error) {
	for line := range strings.Lines(text) {
		given, marked := strings.CutPrefix(strings.TrimRight(line, "\r\n"), marker)
		if !marked {
			continue
		}
		s, err := parse(given)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func parse(line string) (*step, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	v, known := table[name]
	if !known {
		return nil, fmt.Errorf("unknown step %q", name)
	}
	parsed, err := v.grammar().parse(strings.TrimSpace(rest))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; usage: %s %s", name, err, name, v.usage)
	}
	return &step{verb: v, args: parsed}, nil
}

// grammar is a usage, taken apart.
type grammar struct {
	required, most int // words; most < 0 where there is no limit
	named          map[string]bool
	text, step     bool // what the rest of the line is
	needsText      bool
}

func (v *verb) grammar() grammar {
	g := grammar{named: map[string]bool{}}
	for _, part := range strings.Fields(v.usage) {
		inner, optional := strings.CutPrefix(part, "[")
		inner = strings.TrimSuffix(inner, "]")
		name, _, named := strings.Cut(inner, "=")
		switch {
		case inner == "TEXT":
			g.text, g.needsText = true, !optional
		case inner == "STEP":
			g.step = true
		case named:
			g.named[name] = true
		case strings.HasSuffix(inner, "..."):
			g.most = -1
		case optional:
			g.most++
		default:
			g.required, g.most = g.required+1, g.most+1
		}
	}
	return g
}

func (g grammar) parse(rest string) (a args, err error) {
	a.named = map[string]string{}
	for rest != "" {
		if g.text || g.step {
			if len(a.words) == g.required {
				break
			}
		}
		name, value, named := strings.Cut(rest, "=")
		if named = named && g.named[name]; named {
			rest = value
		}
		var word string
		if word, rest, err = cutWord(rest); err != nil {
			return a, err
		}
		if named {
			a.named[name] = word
		} else {
			a.words = append(a.words, word)
		}
	}
	return g.fit(a, rest)
}

// fit checks the number of words and reads the rest of the line.
func (g grammar) fit(a args, rest string) (args, error) {
	if len(a.words) < g.required {
		return a, fmt.Errorf("%d words are too few", len(a.words))
	}
	if g.most >= 0 && len(a.words) > g.most {
		return a, fmt.Errorf("%q is too much", a.words[g.most])
	}
	if g.step {
		inner, err := parse(rest)
		a.step = inner
		return a, err
	}
	if g.needsText && rest == "" {
		return a, fmt.Errorf("there is no text")
	}
	a.text = rest
	if whole, err := strconv.Unquote(rest); err == nil && rest[0] == '"' {
		a.text = whole
	}
	return a, nil
}

// cutWord takes the first word off a line: a "quoted\n" one, a 'raw' one, a JSON object or list, or whatever stands
// there up to the next space.
func cutWord(line string) (word, rest string, err error) {
	switch line[:min(1, len(line))] {
	case `"`:
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return "", "", fmt.Errorf("the quotes of %s do not close", line)
		}
		word, err = strconv.Unquote(quoted)
		return word, strings.TrimSpace(line[len(quoted):]), err
	case `'`:
		word, rest, closed := strings.Cut(line[1:], `'`)
		if !closed {
			return "", "", fmt.Errorf("the quotes of %s do not close", line)
		}
		return word, strings.TrimSpace(rest), nil
	case `{`, `[`:
		values := json.NewDecoder(strings.NewReader(line))
		var value json.RawMessage
		if err := values.Decode(&value); err != nil {
			return "", "", fmt.Errorf("%s does not begin with JSON: %w", line, err)
		}
		return string(value), strings.TrimSpace(line[values.InputOffset():]), nil
	}
	word, rest, _ = strings.Cut(line, " ")
	return word, strings.TrimSpace(rest), nil
}

// table has all verbs by name. It is filled in init, because steps parse steps.
var table = map[string]*verb{}

func init() {
	for _, v := range slices.Concat(talkSteps, callSteps, askSteps, stateSteps, clientSteps, ownSteps, flowSteps, endSteps, faultSteps) {
		table[v.name] = &v
	}
}

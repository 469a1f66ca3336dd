package shell

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// Bounds of the samples of one pattern.
const (
	maxSamples    = 300  // that one part of it has, where parts are joined
	maxSampleSize = 4096 // bytes; what is longer is no command that somebody has in mind
)

// matchesOf returns texts that a pattern matches, such as people write them: npm test for npm \w+. Each choice of the pattern is
// in at least one of them, and as far as their number is bounded, each combination of its choices. Assertions such as \b are not
// looked at, so not all of the texts match.
func matchesOf(pattern *syntax.Regexp) []string {
	switch pattern.Op {
	case syntax.OpLiteral:
		if pattern.Flags&syntax.FoldCase != 0 {
			return []string{strings.ToLower(string(pattern.Rune))} // the parser has them in capitals, and programs are not written so
		}
		return []string{string(pattern.Rune)}
	case syntax.OpCharClass:
		return letters(pattern.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{".", " "}
	case syntax.OpCapture:
		return matchesOf(pattern.Sub[0])
	case syntax.OpQuest:
		return append(matchesOf(pattern.Sub[0]), "")
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return repeated(pattern)
	case syntax.OpAlternate:
		return alternatives(pattern.Sub)
	case syntax.OpConcat:
		texts := []string{""}
		for _, sub := range pattern.Sub {
			texts = joined(texts, matchesOf(sub))
		}
		return texts
	}
	return []string{""} // assertions; and what never matches, which no rule grants
}

// repeated are the least repetitions of a part, and one more.
func repeated(pattern *syntax.Regexp) []string {
	least, most := pattern.Min, pattern.Max
	switch pattern.Op {
	case syntax.OpStar:
		least, most = 0, -1
	case syntax.OpPlus:
		least, most = 1, -1
	}
	part := matchesOf(pattern.Sub[0])
	if most < 0 && least <= 1 && spells(pattern.Sub[0], aWord) {
		part = append([]string{aWord}, part...)
	}
	texts := []string{""}
	for range least {
		texts = joined(texts, part)
	}
	if least == 0 && most != 0 {
		texts = append(slices.Clone(part), texts...)
	}
	return texts
}

// aWord stands where a pattern has any word.
const aWord = "test"

// spells reports whether each letter of a word matches a part of a pattern by itself.
func spells(part *syntax.Regexp, word string) bool {
	switch part.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCapture:
		return spells(part.Sub[0], word)
	case syntax.OpCharClass:
		for _, c := range word {
			if !inClass(part.Rune, c) {
				return false
			}
		}
		return true
	}
	return false
}

// letters are the members of a small class, for the parser makes one of (a|b), and some of a large one.
func letters(class []rune) (texts []string) {
	const small = 10
	for i := 0; i+1 < len(class); i += 2 {
		for c := class[i]; c <= class[i+1] && len(texts) <= small; c++ {
			texts = append(texts, string(c))
		}
	}
	if len(texts) <= small && !inClass(class, ' ') {
		return texts
	}
	usual := texts[:0:0]
	for _, c := range "a .-/0A_=" {
		if inClass(class, c) && len(usual) < 2 {
			usual = append(usual, string(c))
		}
	}
	if len(usual) == 0 {
		return texts[:1]
	}
	return usual
}

// inClass reports whether c lies in one of the ranges of a class.
func inClass(class []rune, c rune) bool {
	for i := 0; i+1 < len(class); i += 2 {
		if class[i] <= c && c <= class[i+1] {
			return true
		}
	}
	return false
}

// alternatives are samples of each alternative.
func alternatives(subs []*syntax.Regexp) (texts []string) {
	each := max(1, maxSamples/len(subs))
	for _, sub := range subs {
		more := matchesOf(sub)
		texts = append(texts, more[:min(each, len(more))]...)
	}
	return texts
}

// joined continues texts. Where there would be too many, not each one is continued with each end, but each end is used.
func joined(texts, ends []string) (longer []string) {
	add := func(text, end string) {
		if len(text)+len(end) <= maxSampleSize {
			longer = append(longer, text+end)
		}
	}
	if len(texts)*len(ends) > maxSamples {
		for i := range max(len(texts), len(ends)) {
			add(texts[i%len(texts)], ends[i%len(ends)])
		}
		return longer
	}
	for _, text := range texts {
		for _, end := range ends {
			add(text, end)
		}
	}
	return longer
}

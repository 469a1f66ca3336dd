package approvals

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Limits of a glob. A pattern comes from a client and a path from a model, and every call is compared with every rule:
// {a,aa,aaa,*} twelve times in a row takes minutes for one path of sixty letters.
const (
	maxGlob     = 1024    // bytes
	maxStars    = 8       // groups of stars
	maxGlobWork = 1 << 18 // bytes of the pattern times bytes of the path: about a millisecond at the worst
)

// readable reports whether a pattern is a glob that can be matched in bounded time.
func readable(pattern string) bool {
	return len(pattern) <= maxGlob && doublestar.ValidatePattern(pattern) && plainGlob(pattern)
}

// plainGlob reports whether a pattern has no braces, and few stars.
func plainGlob(pattern string) bool {
	stars, before := 0, byte(0)
	for i := 0; i < len(pattern); i++ {
		char := pattern[i]
		switch {
		case char == '\\': // what follows stands for itself
			i++
		case char == '{' || char == '}':
			return false
		case char == '*' && before != '*':
			stars++
		}
		before = char
	}
	return stars <= maxStars
}

// inGlob compares a path with a pattern. Where that would take too long, or the pattern was stored before there were
// limits, it is perhaps.
func inGlob(pattern, path string) fit {
	if !readable(pattern) || len(pattern)*len(path) > maxGlobWork {
		return perhaps
	}
	if matches, err := doublestar.Match(pattern, path); err != nil {
		return perhaps
	} else if matches {
		return certain
	}
	return apart
}

// aboveGlob reports whether a path is a folder above the files of the pattern: /srv is above /srv/secrets/**. Behind
// a ** every folder would be, so there the way ends.
func aboveGlob(pattern, path string) bool {
	way, _, _ := strings.Cut(pattern, "**")
	folders := strings.Split(strings.TrimPrefix(way, "/"), "/")
	depth := strings.Count(path, "/")
	switch {
	case path == "/":
		return true
	case depth >= len(folders):
		return false
	default:
		return inGlob("/"+strings.Join(folders[:depth], "/"), path) != apart
	}
}

// fit is how far a matcher that holds back is about a call. What an agent keeps from us must not make it free of a rule
// that it would fall under, so besides yes and no there is perhaps, and perhaps asks.
type fit int

const (
	apart fit = iota
	perhaps
	certain
)

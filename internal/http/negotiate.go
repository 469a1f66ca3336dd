package http

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

const (
	typeStream = "text/event-stream"
	typeJSON   = "application/json"
)

// negotiate returns the offered media type that the client prefers, the first one if the client has no preference, and an empty string
// if it accepts none (RFC 9110, section 12.5.1).
func negotiate(accept []string, offered ...string) (best string) {
	if len(accept) == 0 {
		return offered[0]
	}
	highest := 0.0
	for _, media := range offered {
		if quality := qualityOf(accept, media); quality > highest {
			best, highest = media, quality
		}
	}
	return best
}

// qualityOf returns the quality that the client gives to a media type. The most specific pattern counts: "text/*;q=0, */*" accepts no
// text.
func qualityOf(accept []string, media string) (quality float64) {
	kind, _, _ := strings.Cut(media, "/")
	patterns := []string{"*/*", kind + "/*", media}
	closest := -1
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		pattern, parameters, err := mime.ParseMediaType(part)
		near := slices.Index(patterns, pattern)
		if err != nil || near < closest || near < 0 {
			continue
		}
		if q, valid := weight(parameters); valid && (near > closest || q > quality) {
			closest, quality = near, q
		}
	}
	return quality
}

func weight(parameters map[string]string) (q float64, valid bool) {
	text, given := parameters["q"]
	if !given {
		return 1, true
	}
	q, err := strconv.ParseFloat(text, 64)
	return q, err == nil && q >= 0 && q <= 1
}

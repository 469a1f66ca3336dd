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

// negotiate picks what the client likes best of what is offered; the first where it does not care, nothing where it
// takes none (RFC 9110, section 12.5.1).
func negotiate(accept []string, offered ...string) (best string) {
	if len(accept) == 0 {
		return offered[0]
	}
	liking := 0.0
	for _, media := range offered {
		if quality := likes(accept, media); quality > liking {
			best, liking = media, quality
		}
	}
	return best
}

// likes is the quality that the client gives to a media type. What it says of exactly this one counts, before what it
// says of the kind, before what it says of all: "text/*;q=0, */*" takes no text.
func likes(accept []string, media string) (quality float64) {
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

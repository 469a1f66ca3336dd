package tools

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"signoff/internal/domain"
)

const maxPageBytes = 5 << 20

// webPage is the text answer of a host.
type webPage struct {
	from   *url.URL
	status int
	media  string // without parameters
	text   string // as it came, in UTF-8
	whole  bool   // there was no more
}

// readPage reads an answer. What is not text is refused, if possible before it is read.
func readPage(ctx context.Context, response *http.Response) (webPage, error) {
	declared := response.Header.Get("Content-Type")
	if declared != "" && !isText(mediaType(declared)) {
		return webPage{}, noText(mediaType(declared), sizeOf(response.ContentLength))
	}
	body, whole, err := readBody(ctx, response, maxPageBytes)
	if err != nil {
		return webPage{}, err
	}
	if !whole {
		body = body[:len(body)-begunRune(body)] // it may have been cut in the middle of a character
	}
	if declared == "" {
		declared = http.DetectContentType(body)
	}
	text := decodeText(body, declared)
	if !isText(mediaType(declared)) || strings.Contains(text[:min(len(text), sniffBytes)], "\x00") {
		return webPage{}, noText(mediaType(declared), sizeOf(int64(len(body))))
	}
	return webPage{response.Request.URL, response.StatusCode, mediaType(declared), text, whole}, nil
}

func mediaType(declared string) string {
	media, _, err := mime.ParseMediaType(declared)
	if err != nil { // such as a broken parameter
		media, _, _ = strings.Cut(declared, ";")
	}
	return strings.ToLower(strings.TrimSpace(media))
}

var (
	htmlTypes = []string{"text/html", "application/xhtml+xml"}
	textTypes = []string{"application/json", "application/xml", "application/javascript", "application/x-javascript",
		"application/x-ndjson", "application/yaml", "application/x-yaml", "application/toml", "application/x-sh", "application/sql"}
)

func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || slices.Contains(htmlTypes, media) || slices.Contains(textTypes, media) ||
		strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml")
}

func noText(media, size string) error {
	return domain.Errorf(domain.CodeToolFailed, "The host answered with %s, %s; only text can be fetched.", code(media), size)
}

func sizeOf(length int64) string {
	if length < 0 {
		return "of an unknown size"
	}
	return fmt.Sprintf("%d bytes", length)
}

// decodeText makes UTF-8 of a body, by its byte order mark, its header, or what the page says of itself. Most pages that say
// nothing, or say windows-1252, are UTF-8 all the same.
func decodeText(body []byte, declared string) string {
	encoding, name, certain := charset.DetermineEncoding(body, declared)
	if !certain && name == "windows-1252" && utf8.Valid(body) {
		return string(body)
	}
	decoded, err := encoding.NewDecoder().Bytes(body)
	if err != nil {
		decoded = body
	}
	decoded = bytes.TrimPrefix(decoded, []byte("\uFEFF"))
	return strings.ToValidUTF8(string(decoded), "\uFFFD")
}

// content is the page as a model reads it.
func (p webPage) content() string {
	text := p.text
	if slices.Contains(htmlTypes, p.media) {
		text = pageMarkdown(text, p.from, toMarkdown)
	}
	if strings.TrimSpace(text) == "" {
		text = "(the page is empty)"
	}
	if !p.whole {
		text = joinLines(text, fmt.Sprintf("[The page has more than %d bytes; the rest was not fetched.]", maxPageBytes))
	}
	return Foreign(visible(p.from.String()), text)
}

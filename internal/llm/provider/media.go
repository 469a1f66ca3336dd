package provider

import (
	"encoding/base64"
	"strings"

	"signoff/internal/domain"
)

// The media types that providers send; see [Provider.Media].
var (
	Pictures       = []string{domain.MediaPNG, domain.MediaJPEG, domain.MediaGIF, domain.MediaWebP}
	PicturesAndPDF = []string{domain.MediaPNG, domain.MediaJPEG, domain.MediaGIF, domain.MediaWebP, domain.MediaPDF}
)

// Base64 is the content of a part's file as JSON carries it.
func (r Request) Base64(part domain.PromptPart) string { return r.encoded("", part) }

// DataURL is the content of a part's file as a URL: https://www.rfc-editor.org/rfc/rfc2397
func (r Request) DataURL(part domain.PromptPart) string {
	return r.encoded("data:"+part.MediaType+";base64,", part)
}

// encoded is the content in base64 behind a text. It is written once: of 50 MB of files, each copy is 67 MB more in memory.
func (r Request) encoded(before string, part domain.PromptPart) string {
	content := r.Files[part.FileID]
	var text strings.Builder
	text.Grow(len(before) + base64.StdEncoding.EncodedLen(len(content)))
	text.WriteString(before)
	encoder := base64.NewEncoder(base64.StdEncoding, &text)
	_, _ = encoder.Write(content) // a Builder takes everything
	_ = encoder.Close()
	return text.String()
}

// FileName is the name of a part's file for a model: its id, if it has no other name.
func FileName(part domain.PromptPart) string {
	if part.Name == "" {
		return string(part.FileID)
	}
	return part.Name
}

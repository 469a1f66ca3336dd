package provider

import (
	"encoding/base64"

	"signoff/internal/domain"
)

// The media types that providers send; see [Provider.Media].
var (
	Pictures       = []string{domain.MediaPNG, domain.MediaJPEG, domain.MediaGIF, domain.MediaWebP}
	PicturesAndPDF = []string{domain.MediaPNG, domain.MediaJPEG, domain.MediaGIF, domain.MediaWebP, domain.MediaPDF}
)

// Base64 is the content of a part's file as JSON carries it.
func (r Request) Base64(part domain.PromptPart) string {
	return base64.StdEncoding.EncodeToString(r.Files[part.FileID])
}

// DataURL is the content of a part's file as a URL: https://www.rfc-editor.org/rfc/rfc2397
func (r Request) DataURL(part domain.PromptPart) string {
	return "data:" + part.MediaType + ";base64," + r.Base64(part)
}

// FileName is what a model is told that a part's file is called.
func FileName(part domain.PromptPart) string {
	if part.Name == "" {
		return string(part.FileID)
	}
	return part.Name
}

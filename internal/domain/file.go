package domain

import (
	"bytes"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of files.
const (
	MaxFileSize     = 20_000_000 // bytes of one file
	MaxTextFileSize = 1 << 20    // bytes of a text file: a model reads it whole, like the text of a prompt
	MaxFileName     = 255        // bytes of a file's name

	// MaxExecutionFiles bounds the bytes of an execution's files. A tool that answers with a picture each time must not fill the disk.
	MaxExecutionFiles = 500_000_000
)

// FileID is file_ and a UUID, version 7.
type FileID string

const fileIDPrefix = "file_"

// ParseFileID reads the id of a file. Text that cannot be an id is [CodeNotFound], like an id that nobody has.
func ParseFileID(text string) (FileID, error) {
	if id, prefixed := strings.CutPrefix(text, fileIDPrefix); !prefixed || !uuidText.MatchString(id) {
		return "", Errorf(CodeNotFound, "There is no such file.")
	}
	return FileID(text), nil
}

// NewFileID is the id with the given UUID.
func NewFileID(uuid string) FileID { return FileID(fileIDPrefix + uuid) }

// File is a picture or a document of a tenant, for prompts and tool results. Its bytes are stored apart, once per tenant and hash.
type File struct {
	ID        FileID    `json:"id"`
	Name      string    `json:"name,omitempty"` // empty: it was sent without one
	MediaType string    `json:"mediaType"`      // one of [MediaTypes], found in the bytes
	Size      int64     `json:"size"`
	SHA256    string    `json:"sha256"` // of the bytes, in hexadecimal
	CreatedAt time.Time `json:"createdAt"`
}

// Media types of files.
const (
	MediaPNG      = "image/png"
	MediaJPEG     = "image/jpeg"
	MediaGIF      = "image/gif"
	MediaWebP     = "image/webp"
	MediaPDF      = "application/pdf"
	MediaPlain    = "text/plain"
	MediaMarkdown = "text/markdown"
	MediaCSV      = "text/csv"
	MediaJSON     = "application/json"
)

// MediaTypes are the kinds of files that there are.
var MediaTypes = []string{MediaPNG, MediaJPEG, MediaGIF, MediaWebP, MediaPDF, MediaPlain, MediaMarkdown, MediaCSV, MediaJSON}

// IsPicture reports whether a file of the media type is a picture that models take and browsers show safely.
func IsPicture(mediaType string) bool {
	switch mediaType {
	case MediaPNG, MediaJPEG, MediaGIF, MediaWebP:
		return true
	}
	return false
}

// IsText reports whether a file of the media type is text, in UTF-8.
func IsText(mediaType string) bool {
	switch mediaType {
	case MediaPlain, MediaMarkdown, MediaCSV, MediaJSON:
		return true
	}
	return false
}

// MediaTypeOf finds the media type of a file by its first bytes. Neither the client nor the name decides whether a file is a picture, because a browser
// shows it as one. The name only tells kinds of text apart. Anything but [MediaTypes] is [CodeUnsupportedMedia].
func MediaTypeOf(name string, content []byte) (string, error) {
	if found := signature(content); found != "" {
		return found, nil
	}
	if !isPlainText(content) {
		return "", Errorf(CodeUnsupportedMedia, "The file is none of the kinds that are taken: %s.", kindsTaken)
	}
	if isSVG(content) {
		return "", svgRefused()
	}
	if len(content) > MaxTextFileSize {
		return "", Errorf(CodePayloadTooLarge, "A text file has at most %d bytes; this one has %d.", MaxTextFileSize, len(content))
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return MediaMarkdown, nil
	case ".csv":
		return MediaCSV, nil
	case ".json":
		return MediaJSON, nil
	}
	return MediaPlain, nil
}

func svgRefused() *Error {
	return Errorf(CodeUnsupportedMedia, "SVG is not taken, because it can hold a program. Send it as PNG.")
}

const kindsTaken = "PNG, JPEG, GIF, WebP, PDF and text in UTF-8"

// signature is the media type that the first bytes tell (https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern); empty: none.
func signature(content []byte) string {
	switch {
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
		return MediaPNG
	case bytes.HasPrefix(content, []byte("\xff\xd8\xff")):
		return MediaJPEG
	case bytes.HasPrefix(content, []byte("GIF87a")), bytes.HasPrefix(content, []byte("GIF89a")):
		return MediaGIF
	case len(content) >= 14 && string(content[:4]) == "RIFF" && string(content[8:14]) == "WEBPVP":
		return MediaWebP
	case bytes.HasPrefix(content, []byte("%PDF-")):
		return MediaPDF
	}
	return ""
}

// isPlainText reports whether content is text that a model can read. A control character that no text has tells a binary format.
func isPlainText(content []byte) bool {
	if len(content) == 0 || !utf8.Valid(content) {
		return false
	}
	return !bytes.ContainsFunc(content, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r)
	})
}

// isSVG reports whether the root element of an XML or HTML text is svg. Behind a prolog it may be anywhere in the first bytes, as browsers look for it.
func isSVG(content []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(content[:min(len(content), 4096)], []byte("\ufeff"))))
	if bytes.HasPrefix(head, []byte("<svg")) {
		return true
	}
	prolog := bytes.HasPrefix(head, []byte("<?xml")) || bytes.HasPrefix(head, []byte("<!--")) || bytes.HasPrefix(head, []byte("<!doctype svg"))
	return prolog && bytes.Contains(head, []byte("<svg"))
}

// FileName is the last part of a name that a client gives a file, without characters that deceive a reader or break a header; at most [MaxFileName] bytes.
func FileName(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unseen(r) {
			return -1
		}
		return r
	}, name))
	for len(name) > MaxFileName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name == "." || name == ".." {
		return ""
	}
	return name
}

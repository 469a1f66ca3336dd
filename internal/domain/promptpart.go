package domain

import (
	"cmp"
	"fmt"
	"strings"
)

// Bounds of a prompt in parts.
const (
	MaxPromptParts    = 50
	MaxPromptPictures = 20
	MaxPromptBytes    = 50_000_000 // of all its files
	MaxPartPath       = 4096       // bytes of the path of a file
)

// PartType is what a part of a prompt is.
type PartType string

const (
	PartText  PartType = "text"
	PartImage PartType = "image" // a picture: PNG, JPEG, GIF or WebP
	PartFile  PartType = "file"  // a document: PDF or text; in the result of a tool, audio
)

// PromptPart is one piece of what is said to a model: a text, or a file of the execution.
//
// In a request, a file is named by its id, or by a path in the working directory. When the request is accepted, the bytes are read, the file gets an id,
// and Name, MediaType and Size are filled in.
type PromptPart struct {
	Type      PartType `json:"type"`
	Text      string   `json:"text,omitempty"`
	FileID    FileID   `json:"fileId,omitempty"`
	Path      string   `json:"path,omitempty"` // where the file was read; it is not read again
	Name      string   `json:"name,omitempty"`
	MediaType string   `json:"mediaType,omitempty"`
	Size      int64    `json:"size,omitempty"`
}

// IsFile reports whether the part is a picture or another file.
func (p PromptPart) IsFile() bool { return p.Type == PartImage || p.Type == PartFile }

// Mention is the part for readers of text alone: a model that takes no pictures, a list of executions.
func (p PromptPart) Mention() string {
	if !p.IsFile() {
		return p.Text
	}
	return fmt.Sprintf("[%s %s]", p.Type, cmp.Or(p.Name, p.Path, string(p.FileID)))
}

// AsText is a text file for a model that is sent it as text.
func (p PromptPart) AsText(content []byte) string {
	return fmt.Sprintf("The file %q:\n\n%s", cmp.Or(p.Path, p.Name, string(p.FileID)), content)
}

// LeftOut is the text in the place of a file that a model is not sent.
func (p PromptPart) LeftOut(why string) PromptPart {
	return PromptPart{Type: PartText, Text: fmt.Sprintf("%s was left out: %s.", p.Mention(), why)}
}

// NoRoom is why an older file of a conversation is left out.
const NoRoom = "the newer files leave no room for it"

// Stored is the part with the description of its stored file. It fails with [CodeInvalid] at pointer if the file is not of the part's type.
func (p PromptPart) Stored(pointer string, file File) (PromptPart, error) {
	if picture := IsPicture(file.MediaType); picture != (p.Type == PartImage) {
		right := PartFile
		if picture {
			right = PartImage
		}
		return p, Invalid(pointer+"/type", "This file is %s, so the type of its part is %q.", file.MediaType, right)
	}
	p.FileID, p.MediaType, p.Size, p.Name = file.ID, file.MediaType, file.Size, cmp.Or(p.Name, file.Name)
	return p, nil
}

// PartsText joins the text parts, with a blank line between them, for clients that know only texts.
func PartsText(parts []PromptPart) string {
	var texts []string
	for _, part := range parts {
		if part.Type == PartText {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// Mentioned is a message for a reader of text alone: each file is only mentioned.
func Mentioned(text string, parts []PromptPart) string {
	if parts == nil {
		return text
	}
	mentions := make([]string, len(parts))
	for i, part := range parts {
		mentions[i] = part.Mention()
	}
	return strings.Join(mentions, "\n\n")
}

// FileParts are the parts that are files. A prompt without one is a text, and is kept as one.
func FileParts(parts []PromptPart) []PromptPart {
	var files []PromptPart
	for _, part := range parts {
		if part.IsFile() {
			files = append(files, part)
		}
	}
	return files
}

// PictureParts are the parts of a result that a model is shown. The text of the result says what else there is.
func PictureParts(parts []PromptPart) []PromptPart {
	var pictures []PromptPart
	for _, part := range parts {
		if part.Type == PartImage {
			pictures = append(pictures, part)
		}
	}
	return pictures
}

// CheckParts checks the form and the number of the parts of a request. The pointers of what is wrong begin with pointer.
func CheckParts(pointer string, parts []PromptPart) []Detail {
	if n := len(parts); n == 0 || n > MaxPromptParts {
		return []Detail{{Pointer: pointer, Message: fmt.Sprintf("must have 1 to %d parts", MaxPromptParts)}}
	}
	var wrong []Detail
	pictures := 0
	for i, part := range parts {
		if field, message := part.check(); message != "" {
			wrong = append(wrong, Detail{Pointer: fmt.Sprintf("%s/%d%s", pointer, i, field), Message: message})
		}
		if part.Type == PartImage {
			pictures++
		}
	}
	if pictures > MaxPromptPictures {
		wrong = append(wrong, Detail{Pointer: pointer, Message: fmt.Sprintf("must have at most %d pictures; these are %d", MaxPromptPictures, pictures)})
	}
	return wrong
}

// check returns the field that is wrong, if there is one, and why.
func (p PromptPart) check() (field, message string) {
	switch {
	case p.Type == PartText && strings.TrimSpace(p.Text) == "":
		return "/text", "must not be empty"
	case p.Type == PartText && (p.FileID != "" || p.Path != "" || p.Name != ""):
		return "", "is a text, so it must not name a file"
	case p.Type == PartText:
		return "", ""
	case !p.IsFile():
		return "/type", "must be text, image or file"
	case p.Text != "":
		return "/text", "must be in a part of its own, with the type text"
	case (p.FileID == "") == (p.Path == ""):
		return "", "must have either fileId or path"
	case len(p.Path) > MaxPartPath:
		return "/path", fmt.Sprintf("must have at most %d bytes", MaxPartPath)
	case p.Name != FileName(p.Name):
		return "/name", fmt.Sprintf("must be a plain file name with at most %d bytes", MaxFileName)
	}
	if p.FileID != "" {
		if _, err := ParseFileID(string(p.FileID)); err != nil {
			return "/fileId", "must be the id of a file"
		}
	}
	return "", ""
}

// CheckSize checks the size of all files of a prompt together. A file that several parts name counts each time, since it is sent each time.
func CheckSize(pointer string, parts []PromptPart) error {
	if size := PartsSize(parts); size > MaxPromptBytes {
		return Invalid(pointer, "The files of a prompt have at most %d bytes together; these have %d.", MaxPromptBytes, size)
	}
	return nil
}

// PartsSize is the number of bytes of all files of the parts.
func PartsSize(parts []PromptPart) (size int64) {
	for _, part := range parts {
		size += part.Size
	}
	return size
}

// NotedParts puts a note before the parts of a prompt. A prompt without parts gets none here: its text has the note.
func NotedParts(note string, parts []PromptPart) []PromptPart {
	if note == "" || parts == nil {
		return parts
	}
	return append([]PromptPart{{Type: PartText, Text: note}}, parts...)
}

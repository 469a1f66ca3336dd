package domain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"signoff/internal/domain"
)

func TestMediaTypeOf(t *testing.T) {
	for name, test := range map[string]struct {
		file, content, want string
		code                domain.Code
	}{
		"png":                    {content: "\x89PNG\r\n\x1a\n\x00", want: domain.MediaPNG},
		"png called html":        {file: "a.html", content: "\x89PNG\r\n\x1a\n<script>", want: domain.MediaPNG},
		"jpeg":                   {content: "\xff\xd8\xff\xe0", want: domain.MediaJPEG},
		"gif":                    {content: "GIF89a\x00", want: domain.MediaGIF},
		"webp":                   {content: "RIFF\x10\x00\x00\x00WEBPVP8 ", want: domain.MediaWebP},
		"wave":                   {content: "RIFF\x10\x00\x00\x00WAVEfmt ", code: domain.CodeUnsupportedMedia},
		"pdf":                    {content: "%PDF-1.7\n\x00\xff", want: domain.MediaPDF},
		"text":                   {content: "größer als <svg\n", want: domain.MediaPlain},
		"text called png":        {file: "a.png", content: "no picture", want: domain.MediaPlain},
		"html":                   {file: "a.html", content: "<!DOCTYPE html><script>1</script>", want: domain.MediaPlain},
		"markdown":               {file: "README.MD", content: "# A", want: domain.MediaMarkdown},
		"csv":                    {file: "a.csv", content: "a,b\n", want: domain.MediaCSV},
		"json":                   {file: "a.json", content: "{}", want: domain.MediaJSON},
		"svg":                    {content: "<svg xmlns='http://www.w3.org/2000/svg'>", code: domain.CodeUnsupportedMedia},
		"svg called text":        {file: "a.txt", content: " \n<SVG onload=alert(1)>", code: domain.CodeUnsupportedMedia},
		"svg behind a mark":      {content: "\ufeff<svg/>", code: domain.CodeUnsupportedMedia},
		"svg behind a prolog":    {content: "<?xml version='1.0'?>\n<!-- a --><svg/>", code: domain.CodeUnsupportedMedia},
		"svg behind a doctype":   {content: "<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'x'><svg/>", code: domain.CodeUnsupportedMedia},
		"nothing":                {code: domain.CodeUnsupportedMedia},
		"program":                {content: "\x7fELF\x02\x01\x01\x00", code: domain.CodeUnsupportedMedia},
		"heic":                   {content: "\x00\x00\x00\x18ftypheic", code: domain.CodeUnsupportedMedia},
		"utf-16":                 {content: "\xff\xfea\x00", code: domain.CodeUnsupportedMedia},
		"a text that is too big": {content: strings.Repeat("a", domain.MaxTextFileSize+1), code: domain.CodePayloadTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := domain.MediaTypeOf(test.file, []byte(test.content))
			if got != test.want || codeOf(err) != test.code {
				t.Errorf("got %q, %v; want %q, %q", got, err, test.want, test.code)
			}
		})
	}
}

func codeOf(err error) domain.Code {
	if coded := (*domain.Error)(nil); errors.As(err, &coded) {
		return coded.Code
	}
	return ""
}

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"photo.jpg": "photo.jpg", "../../etc/passwd": "passwd", `C:\photos\a.png`: "a.png", "a\r\nX: y": "aX: y", "gpj\u202e.exe": "gpj.exe",
		"..": "", "a/": "", "Größe 1.pdf": "Größe 1.pdf", "\xff.pdf": ".pdf", strings.Repeat("ä", 200): strings.Repeat("ä", 127),
	} {
		if got := domain.FileName(name); got != want {
			t.Errorf("FileName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestFileIDs(t *testing.T) {
	const uuid = "0190f5a4-0000-7000-8000-000000000001"
	if id, err := domain.ParseFileID(string(domain.NewFileID(uuid))); err != nil || id != "file_"+uuid {
		t.Errorf("got %q, %v", id, err)
	}
	for _, id := range []string{"", uuid, "file_", "file_" + strings.ToUpper("0190f5a4-aaaa-7000-8000-000000000001"), "file_" + uuid + "'"} {
		if _, err := domain.ParseFileID(id); codeOf(err) != domain.CodeNotFound {
			t.Errorf("ParseFileID(%q): %v", id, err)
		}
	}
}

func TestPartsAreRead(t *testing.T) {
	const text = `[{"type":"image","fileId":"file_0190f5a4-0000-7000-8000-000000000001"},{"type":"file","path":"reports/x.pdf"},{"type":"text","text":"a"}]`
	var parts []domain.PromptPart
	if err := json.Unmarshal([]byte(text), &parts); err != nil {
		t.Fatal(err)
	}
	if wrong := domain.CheckParts("/prompt", parts); wrong != nil {
		t.Error(wrong)
	}
	if got := domain.Encode(parts); !bytes.Equal(got, []byte(text)) {
		t.Errorf("written as %s", got)
	}
	if got := domain.PartsText(append(parts, domain.PromptPart{Type: domain.PartText, Text: "b"})); got != "a\n\nb" {
		t.Errorf("the text is %q", got)
	}
	if got := domain.FileParts(parts); len(got) != 2 {
		t.Errorf("the files are %v", got)
	}
}

func TestWrongParts(t *testing.T) {
	const id = "file_0190f5a4-0000-7000-8000-000000000001"
	picture := domain.PromptPart{Type: domain.PartImage, FileID: id}
	for name, test := range map[string]struct {
		part    domain.PromptPart
		pointer string
	}{
		"no type":            {domain.PromptPart{Text: "a"}, "/prompt/1/type"},
		"another type":       {domain.PromptPart{Type: "audio", FileID: id}, "/prompt/1/type"},
		"blank text":         {domain.PromptPart{Type: domain.PartText, Text: " \n"}, "/prompt/1/text"},
		"text with a file":   {domain.PromptPart{Type: domain.PartText, Text: "a", FileID: id}, "/prompt/1"},
		"file with a text":   {domain.PromptPart{Type: domain.PartFile, Text: "a", FileID: id}, "/prompt/1/text"},
		"neither":            {domain.PromptPart{Type: domain.PartFile}, "/prompt/1"},
		"both":               {domain.PromptPart{Type: domain.PartFile, FileID: id, Path: "a"}, "/prompt/1"},
		"no id":              {domain.PromptPart{Type: domain.PartFile, FileID: "a"}, "/prompt/1/fileId"},
		"a path for a name":  {domain.PromptPart{Type: domain.PartFile, FileID: id, Name: "../a"}, "/prompt/1/name"},
		"a path without end": {domain.PromptPart{Type: domain.PartFile, Path: strings.Repeat("a", domain.MaxPartPath+1)}, "/prompt/1/path"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := domain.CheckParts("/prompt", []domain.PromptPart{picture, test.part})
			if len(wrong) != 1 || wrong[0].Pointer != test.pointer {
				t.Errorf("got %v, want one at %s", wrong, test.pointer)
			}
		})
	}
	for name, n := range map[string]int{"none": 0, "too many pictures": domain.MaxPromptPictures + 1, "too many": domain.MaxPromptParts + 1} {
		var parts []domain.PromptPart
		for range n {
			parts = append(parts, picture)
		}
		if wrong := domain.CheckParts("/prompt", parts); len(wrong) != 1 || wrong[0].Pointer != "/prompt" {
			t.Errorf("%s: got %v", name, wrong)
		}
	}
}

func TestPartsOfStoredFiles(t *testing.T) {
	photo := domain.File{ID: "file_1", Name: "a.png", MediaType: domain.MediaPNG, Size: 3}
	got, err := domain.PromptPart{Type: domain.PartImage, Path: "x/a.png"}.Stored("/prompt/0", photo)
	want := domain.PromptPart{Type: domain.PartImage, FileID: "file_1", Path: "x/a.png", Name: "a.png", MediaType: domain.MediaPNG, Size: 3}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := (domain.PromptPart{Type: domain.PartFile}).Stored("/prompt/0", photo); codeOf(err) != domain.CodeInvalid {
		t.Errorf("a picture as a file: %v", err)
	}
	if _, err := (domain.PromptPart{Type: domain.PartImage}).Stored("/prompt/0", domain.File{MediaType: domain.MediaPDF}); codeOf(err) != domain.CodeInvalid {
		t.Errorf("a PDF as a picture: %v", err)
	}
	half := domain.PromptPart{Type: domain.PartFile, Size: domain.MaxPromptBytes/2 + 1}
	if err := domain.CheckSize("/prompt", []domain.PromptPart{half, half}); codeOf(err) != domain.CodeInvalid {
		t.Errorf("too much: %v", err)
	}
	if err := domain.CheckSize("/prompt", []domain.PromptPart{half}); err != nil {
		t.Error(err)
	}
}

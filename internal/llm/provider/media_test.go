package provider

import (
	"encoding/base64"
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestFilesAreEncodedOnce: the memory of a large file is not multiplied.
func TestFilesAreEncodedOnce(t *testing.T) {
	content := make([]byte, 10_000_001)
	for i := range content {
		content[i] = byte(i * i)
	}
	part := domain.PromptPart{Type: domain.PartImage, FileID: "f", MediaType: domain.MediaPNG}
	request := Request{Files: map[domain.FileID][]byte{"f": content}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	url := request.DataURL(part)
	runtime.ReadMemStats(&after)
	if want := "data:image/png;base64," + base64.StdEncoding.EncodeToString(content); url != want || request.Base64(part) != want[22:] {
		t.Error("the content is another one")
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(url))*11/10 {
		t.Errorf("%d bytes were allocated for %d", used, len(url))
	}
}

// TestExtraFieldsCopyNoBody: a body with files is not copied for the fields that an entry adds.
func TestExtraFieldsCopyNoBody(t *testing.T) {
	body := append(make([]byte, 0, 10_000_100), `{"input":"`+strings.Repeat("A", 10_000_000)+`","seed":1}`...)
	extra := Model{ExtraBody: map[string]json.RawMessage{"seed": json.RawMessage(`2`), "a.b*": json.RawMessage(`true`)}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body = extra.AddFields(body)
	runtime.ReadMemStats(&after)
	if !strings.HasSuffix(string(body), `A","seed":1,"a.b*":true}`) || !json.Valid(body) {
		t.Errorf("%s", body[len(body)-100:])
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(body))/10 {
		t.Errorf("%d bytes were allocated for %d", used, len(body))
	}
}

package provider

import (
	"encoding/base64"
	"runtime"
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

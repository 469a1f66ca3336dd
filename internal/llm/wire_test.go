package llm_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools/hosttest"
)

// recorder keeps the body of each request, and gives one reply after the other; without replies, it refuses.
type recorder struct {
	bodies  []string
	replies []reply
}

// RoundTrip implements [http.RoundTripper].
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	r.bodies = append(r.bodies, string(body))
	if len(r.replies) > 0 {
		return r.replies[len(r.bodies)-1](request)
	}
	return &http.Response{StatusCode: http.StatusForbidden, Body: io.NopCloser(strings.NewReader(`{"error":{"message":"no"}}`)), Header: http.Header{}, Request: request}, nil
}

// filesOnTheWire is what is sent of a prompt with a text, a photo of 6 MB and a PDF, and of a round with two calls, of which the first returned a picture.
var filesOnTheWire = map[string]struct {
	address  string // empty: the vendor's own, which tells what is particular about it
	messages string // path in the body
	want     []string
}{
	"openai": {"", "messages", []string{ // https://platform.openai.com/docs/api-reference/chat/create
		`{"content":[{"text":"What is this?","type":"text"},{"image_url":{"url":"data:image/jpeg;base64,PHOTO"},"type":"image_url"},` +
			`{"file":{"file_data":"data:application/pdf;base64,PDF","filename":"plan.pdf"},"type":"file"}],"role":"user"}`,
		``,
		`{"content":"A gauge.","tool_call_id":"a","role":"tool"}`,
		`{"content":"ok","tool_call_id":"b","role":"tool"}`,
		`{"content":[{"text":"The result of the call a has these pictures:","type":"text"},{"image_url":{"url":"data:image/png;base64,GAUGE"},"type":"image_url"}],"role":"user"}`,
	}},
	"mistral": {"", "messages", []string{ // https://docs.mistral.ai/api/#tag/chat
		`{"content":[{"text":"What is this?","type":"text"},{"image_url":{"url":"data:image/jpeg;base64,PHOTO"},"type":"image_url"},` +
			`{"text":"[file plan.pdf] was left out: this model is not sent application/pdf.","type":"text"}],"role":"user"}`,
		``,
		`{"role":"tool","tool_call_id":"ID","content":[{"text":"A gauge.","type":"text"},{"image_url":{"url":"data:image/png;base64,GAUGE"},"type":"image_url"}]}`,
		`{"content":"ok","tool_call_id":"ID","role":"tool"}`,
	}},
	"deepseek": {"", "messages", []string{ // https://api-docs.deepseek.com/guides/vision
		`{"content":[{"text":"What is this?","type":"text"},{"image_url":{"url":"data:image/jpeg;base64,PHOTO"},"type":"image_url"},` +
			`{"text":"[file plan.pdf] was left out: this model is not sent application/pdf.","type":"text"}],"role":"user"}`,
		``,
		`{"content":"A gauge.","tool_call_id":"a","role":"tool"}`,
		`{"content":"ok","tool_call_id":"b","role":"tool"}`,
		`{"content":[{"text":"The result of the call a has these pictures:","type":"text"},{"image_url":{"url":"data:image/png;base64,GAUGE"},"type":"image_url"}],"role":"user"}`,
	}},
	"openai-responses": {"", "input", []string{ // https://platform.openai.com/docs/api-reference/responses/create
		`{"role":"user","content":[{"type":"input_text","text":"What is this?"},{"type":"input_image","image_url":"data:image/jpeg;base64,PHOTO","detail":"auto"},` +
			`{"type":"input_file","filename":"plan.pdf","file_data":"data:application/pdf;base64,PDF"}]}`,
		``, ``,
		`{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"A gauge."},{"type":"input_image","image_url":"data:image/png;base64,GAUGE","detail":"auto"}]}`,
		`{"type":"function_call_output","call_id":"b","output":"ok"}`,
	}},
	"anthropic": {"", "messages", []string{ // https://platform.claude.com/docs/en/api/messages
		`{"role":"user","content":[{"type":"text","text":"What is this?"},{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"PHOTO"}},` +
			`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"PDF"},"title":"plan.pdf"}]}`,
		``,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"A gauge."},` +
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"GAUGE"}}]},` +
			`{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"ok"}],"cache_control":{"type":"ephemeral"}}]}`,
	}},
}

// TestFilesOnTheWire: each dialect is sent the bytes of the pictures and files, also those of a tool result, in the form of its documents.
func TestFilesOnTheWire(t *testing.T) {
	photo := append([]byte("\xff\xd8\xff"), bytes.Repeat([]byte{1, 2, 3}, 2_000_000)...)
	pdf, gauge := []byte("%PDF-1.7 plan"), []byte("\x89PNG\r\n\x1a\ngauge")
	host := &hosttest.Host{}
	part := func(kind domain.PartType, name, mediaType string, content []byte) domain.PromptPart {
		stored, err := domain.PromptPart{Type: kind}.Stored("", host.Store(name, mediaType, content))
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	parts := []domain.PromptPart{
		{Type: domain.PartText, Text: "What is this?"},
		part(domain.PartImage, "photo.jpg", domain.MediaJPEG, photo),
		part(domain.PartFile, "plan.pdf", domain.MediaPDF, pdf),
	}
	shown := []domain.PromptPart{part(domain.PartImage, "gauge.png", domain.MediaPNG, gauge)}
	history := []domain.Message{
		{Role: domain.RoleUser, Text: domain.PartsText(parts), Parts: parts},
		{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{
			{ID: "a", Tool: "read", Arguments: json.RawMessage(`{"path":"gauge.png"}`)}, {ID: "b", Tool: "bash", Arguments: json.RawMessage(`{"command":"x"}`)},
		}},
		{Role: domain.RoleTool, ToolCallID: "a", Text: "A gauge.", Parts: shown},
		{Role: domain.RoleTool, ToolCallID: "b", Text: "ok"},
	}
	short := strings.NewReplacer(base64.StdEncoding.EncodeToString(photo), "PHOTO", base64.StdEncoding.EncodeToString(pdf), "PDF",
		base64.StdEncoding.EncodeToString(gauge), "GAUGE")
	for name, expected := range filesOnTheWire {
		t.Run(name, func(t *testing.T) {
			sent := &recorder{}
			c := config(sent)
			c.Models["test"] = llm.Model{Provider: name, Model: "m", BaseURL: expected.address, APIKey: testKey, APIKeyEnv: "TEST_KEY"}
			synctest.Test(t, func(t *testing.T) {
				_, err := open(t, c, execution()).Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: history})
				want(t, "refused", err != nil, true)
			})
			want(t, "requests", len(sent.bodies), 1)
			var messages []string
			for _, message := range gjson.Get(sent.bodies[0], expected.messages).Array() {
				if message.Get("role").Str != "system" {
					messages = append(messages, short.Replace(message.Raw))
				}
			}
			if len(messages) != len(expected.want) {
				t.Fatalf("%d messages: %.2000q", len(messages), messages)
			}
			for i, message := range messages {
				if id := gjson.Get(message, "tool_call_id").Str; name == "mistral" && id != "" {
					message = strings.Replace(message, id, "ID", 1)
				}
				if expected.want[i] != "" && message != expected.want[i] {
					t.Errorf("message %d:\n%.1000s\nwant:\n%s", i, message, expected.want[i])
				}
			}
		})
	}
	want(t, "the parts of the caller", len(history[0].Parts), 3)
}

// TestATooLargePictureIsRefusedOnce: the vendor says so to the prompt; later prompts and results with such a picture are not refused for it again.
func TestATooLargePictureIsRefusedOnce(t *testing.T) {
	host := &hosttest.Host{}
	part := func(size int) []domain.PromptPart {
		stored, err := domain.PromptPart{Type: domain.PartImage}.Stored("", host.Store(fmt.Sprint(size, ".png"), domain.MediaPNG, make([]byte, size)))
		if err != nil {
			t.Fatal(err)
		}
		return []domain.PromptPart{stored}
	}
	history := []domain.Message{{Role: domain.RoleUser, Parts: part(3_932_161)}}
	later := append(history[:1:1], domain.Message{Role: domain.RoleUser, Text: "And this?", Parts: part(3_932_160)},
		domain.Message{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "a", Tool: "read", Arguments: json.RawMessage(`{"path":"x"}`)}}},
		domain.Message{Role: domain.RoleTool, ToolCallID: "a", Text: "A picture.", Parts: part(4_000_000)},
		domain.Message{Role: domain.RoleUser, Text: "Go on."})
	for _, c := range []struct {
		provider string
		history  []domain.Message
		pictures int
		leftOut  int
	}{{"anthropic", history, 1, 0}, {"anthropic", later, 1, 2}, {"openai", later, 3, 0}} {
		sent := &recorder{}
		config := config(sent)
		config.Models["test"] = llm.Model{Provider: c.provider, Model: "m", APIKey: testKey, APIKeyEnv: "TEST_KEY"}
		synctest.Test(t, func(t *testing.T) {
			_, err := open(t, config, execution()).Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: c.history})
			want(t, "refused", err != nil, true)
		})
		want(t, "pictures", strings.Count(sent.bodies[0], strings.Repeat("A", 5_200_000)), c.pictures)
		want(t, "left out", strings.Count(sent.bodies[0], "was left out: this model takes pictures of at most 3932160 bytes."), c.leftOut)
	}
}

// TestOnlyFilesThatAreSentTakeRoom: a newer file that the model is not sent displaces no older one.
func TestOnlyFilesThatAreSentTakeRoom(t *testing.T) {
	host := &hosttest.Host{}
	part := func(kind domain.PartType, name, mediaType string, size int64) domain.PromptPart {
		stored := host.Store(name, mediaType, []byte("content of "+name))
		return domain.PromptPart{Type: kind, FileID: stored.ID, Name: name, MediaType: mediaType, Size: size}
	}
	parts := []domain.PromptPart{
		part(domain.PartImage, "shown.png", domain.MediaPNG, domain.MaxPromptBytes), part(domain.PartFile, "plan.pdf", domain.MediaPDF, domain.MaxPromptBytes),
	}
	sent := &recorder{replies: []reply{saysOnly("I see.")}}
	synctest.Test(t, func(t *testing.T) {
		history := []domain.Message{{Role: domain.RoleUser, Parts: parts}}
		if _, err := open(t, config(sent), execution()).Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: history}); err != nil {
			t.Error(err)
		}
	})
	want(t, "the picture is sent", strings.Contains(sent.bodies[0], "data:image/png;base64,"), true)
	want(t, "the PDF is left out", strings.Contains(sent.bodies[0], "[file plan.pdf] was left out: this model is not sent application/pdf."), true)
}

// TestALargePictureIsScaled for the vendor with bounds alone, in its prompt and in later requests.
func TestALargePictureIsScaled(t *testing.T) {
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 8001, 40))); err != nil {
		t.Fatal(err)
	}
	host := &hosttest.Host{}
	photo, err := domain.PromptPart{Type: domain.PartImage}.Stored("", host.Store("photo.png", domain.MediaPNG, encoded.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	history := []domain.Message{{Role: domain.RoleUser, Parts: []domain.PromptPart{photo}}, {Role: domain.RoleUser, Text: "Go on.", Parts: []domain.PromptPart{photo}}}
	exact := base64.StdEncoding.EncodeToString(encoded.Bytes())
	for name, wanted := range map[string][2]int{"anthropic": {0, 2}, "openai": {2, 0}} {
		sent := &recorder{}
		config := config(sent)
		config.Models["test"] = llm.Model{Provider: name, Model: "m", APIKey: testKey, APIKeyEnv: "TEST_KEY"}
		synctest.Test(t, func(t *testing.T) {
			_, err := open(t, config, execution()).Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: history})
			want(t, "refused", err != nil, true)
		})
		want(t, name+": the picture", strings.Count(sent.bodies[0], exact), wanted[0])
		want(t, name+": a JPEG", strings.Count(sent.bodies[0], `"media_type":"image/jpeg","data":"/9j/`), wanted[1])
	}
	want(t, "the parts of the caller", history[0].Parts[0].MediaType, domain.MediaPNG)
}

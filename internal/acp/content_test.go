package acp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/acptest"
	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

// stored is a part whose file the host has.
func (r *rig) stored(name, mediaType, content string) domain.PromptPart {
	r.Helper()
	kind := domain.PartFile
	if domain.IsPicture(mediaType) {
		kind = domain.PartImage
	}
	part, err := domain.PromptPart{Type: kind}.Stored("", r.host.Store(name, mediaType, []byte(content)))
	if err != nil {
		r.Fatal(err)
	}
	return part
}

// sends is what the agent says that it got of a prompt, a block a line. The script comes last.
func (r *rig) sends(prompt domain.Prompt) string {
	r.Helper()
	script := domain.PromptPart{Type: domain.PartText, Text: acptest.Prompt("blocks")}
	prompt.Parts = append(prompt.Parts[:len(prompt.Parts):len(prompt.Parts)], script)
	r.turns++
	prompt.Turn, prompt.Text = r.turns, domain.PartsText(prompt.Parts)
	prompt.History = append(prompt.History[:len(prompt.History):len(prompt.History)], domain.Message{Role: domain.RoleUser, Text: prompt.Text, Parts: prompt.Parts})
	before := len(r.host.Text())
	if stop, err := r.agent.Prompt(r.Context(), r.host, prompt); stop != domain.StopEndTurn || err != nil {
		r.Fatalf("the turn ended with %q, %v", stop, err)
	}
	var lines []string
	for _, block := range decoded[[]json.RawMessage](r, []byte(r.host.Text()[before:])) {
		if !strings.Contains(string(block), "#! blocks") {
			lines = append(lines, string(block))
		}
	}
	return strings.Join(lines, "\n")
}

func hashed(content string) string {
	sum := sha256.Sum256([]byte(content))
	return fmt.Sprintf(`"bytes":%d,"sha256":"%s"`, len(content), hex.EncodeToString(sum[:]))
}

// TestFilesReachTheAgent: each block has the exact bytes, in the form that the agent has declared, and in the order of the parts.
func TestFilesReachTheAgent(t *testing.T) {
	photo, pdf := "\xff\xd8\xff"+strings.Repeat("photo\x00\xfe", 1_000_000), "%PDF-1.7 \x00\xff"
	for takes, expected := range map[string]struct{ sent, refused string }{
		"image,embeddedContext": {`{"type":"text","text":"What is \"this\"?"}
{"type":"image","mimeType":"image/jpeg",` + hashed(photo) + `}
{"type":"resource","resource":{"uri":"file://DIR/a%20b/disks.csv","mimeType":"text/csv","text":"db1,\"91%\"\n"}}
{"type":"resource","resource":{"uri":"signoff://files/ID/plan.pdf","mimeType":"application/pdf"},` + hashed(pdf) + `}`, ""},
		"image": {`{"type":"text","text":"What is \"this\"?"}
{"type":"image","mimeType":"image/jpeg",` + hashed(photo) + `}
{"type":"text","text":"The file \"a b/disks.csv\":\n\ndb1,\"91%\"\n"}`,
			"application/pdf; it takes image/png, image/jpeg, image/gif, image/webp, text/plain, text/markdown, text/csv, application/json."},
		"": {`{"type":"text","text":"What is \"this\"?"}
{"type":"text","text":"The file \"a b/disks.csv\":\n\ndb1,\"91%\"\n"}`, "image/jpeg; it takes text/plain, text/markdown, text/csv, application/json."},
	} {
		t.Run(takes, func(t *testing.T) {
			r := newRig(t, "-takes", takes).open()
			csv := r.stored("disks.csv", domain.MediaCSV, "db1,\"91%\"\n")
			csv.Path = "a b/disks.csv"
			parts := []domain.PromptPart{{Type: domain.PartText, Text: `What is "this"?`}, r.stored("photo.jpg", domain.MediaJPEG, photo), csv,
				r.stored("plan.pdf", domain.MediaPDF, pdf)}
			var taken []domain.PromptPart
			for _, part := range parts {
				if r.agent.takes().Omits(part) == "" {
					taken = append(taken, part)
				}
			}
			sent := strings.NewReplacer("DIR", r.launch.Process.Dir, "ID", string(parts[3].FileID)).Replace(expected.sent)
			if diff := cmp.Diff(sent, r.sends(domain.Prompt{Parts: taken})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if expected.refused == "" {
				return
			}
			heard := len(r.host.Payloads())
			_, err := r.agent.Prompt(t.Context(), r.host, domain.Prompt{Turn: 2, Text: "Look", Parts: parts})
			if message := r.fails(err, domain.CodeInvalid); !strings.Contains(message, "The agent scripted has not declared that it takes files of the type "+expected.refused) {
				t.Error(message)
			}
			want(t, "said in the turn", len(r.host.Payloads()), heard)
		})
	}
}

// TestANewSessionGetsTheFilesOfTheConversation: it knows nothing of them. What it is not sent is said in its place.
func TestANewSessionGetsTheFilesOfTheConversation(t *testing.T) {
	r := newRig(t, "-takes", "image").open()
	old, pdf, plot := r.stored("old.png", domain.MediaPNG, "\x89PNG old"), r.stored("plan.pdf", domain.MediaPDF, "%PDF-1.7"), r.stored("plot.png", domain.MediaPNG, "\x89PNG plot")
	pdf.Size = domain.MaxPromptBytes // what the agent is not sent takes no room
	older := r.stored("older.png", domain.MediaPNG, "\x89PNG older")
	older.Size = domain.MaxPromptBytes // as one that is large
	now := r.stored("now.png", domain.MediaPNG, "\x89PNG now")
	got := r.sends(domain.Prompt{Parts: []domain.PromptPart{now}, History: []domain.Message{
		{Role: domain.RoleUser, Parts: []domain.PromptPart{older}},
		{Role: domain.RoleUser, Text: "This?", Parts: []domain.PromptPart{old, {Type: domain.PartText, Text: "This?"}, pdf}},
		{Role: domain.RoleAssistant, ToolCalls: []domain.ToolCall{{ID: "c", Tool: "plot", Arguments: json.RawMessage(`{}`)}}},
		{Role: domain.RoleTool, ToolCallID: "c", Text: "drawn", Parts: []domain.PromptPart{plot}},
	}})
	wanted := `{"type":"text","text":"This is the conversation so far, for you to know. Answer only the message that comes after it.\n` +
		`\n[user]\n[image older.png] was left out: the newer files leave no room for it.\n` +
		`\n[user]\n[image old.png]\n\nThis?\n\n[file plan.pdf] was left out: this agent is not sent application/pdf.\n` +
		`\n[tool call c: plot]\n{}\n\n[result of the tool call c]\ndrawn\n\n[image plot.png]\n` +
		`\nThis is the end of the conversation so far. Its files follow, in their order."}
{"type":"image","mimeType":"image/png",` + hashed("\x89PNG old") + `}
{"type":"image","mimeType":"image/png",` + hashed("\x89PNG plot") + `}
{"type":"image","mimeType":"image/png",` + hashed("\x89PNG now") + `}`
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAPromptIsWrittenOnce: the memory of large files is not multiplied.
func TestAPromptIsWrittenOnce(t *testing.T) {
	r := newRig(t)
	a := &agent{hello: wire.ReadObject(json.RawMessage(`{"agentCapabilities":{"promptCapabilities":{"image":true,"embeddedContext":true}}}`))}
	parts := []domain.PromptPart{r.stored("a.png", domain.MediaPNG, strings.Repeat("photo", 2_000_000)), r.stored("a.pdf", domain.MediaPDF, strings.Repeat("scans", 2_000_000))}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	params, err := a.promptParams(t.Context(), r.host, domain.Prompt{Parts: parts})
	runtime.ReadMemStats(&after)
	if err != nil || len(params) < 26_000_000 || !json.Valid(params) {
		t.Errorf("%d bytes: %v", len(params), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(params))*11/10 {
		t.Errorf("%d bytes were allocated for %d", used, len(params))
	}
}

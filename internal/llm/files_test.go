package llm_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"

	"signoff/internal/domain"
	"signoff/internal/llm"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// TestTextFilesAreText: the model reads a text file at its place in the prompt, in each turn.
func TestTextFilesAreText(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("Full."), saysOnly("Still.")}}
	host := &hosttest.Host{}
	disks := host.Store("disks.csv", domain.MediaCSV, []byte("host,used\ndb1,91%\n"))
	file, err := domain.PromptPart{Type: domain.PartFile}.Stored("", disks)
	if err != nil {
		t.Fatal(err)
	}
	parts := []domain.PromptPart{{Type: domain.PartText, Text: "Which of"}, file, {Type: domain.PartText, Text: "fills up?"}}
	history := []domain.Message{{Role: domain.RoleUser, Text: domain.PartsText(parts), Parts: parts}}
	synctest.Test(t, func(t *testing.T) {
		agent := open(t, config(v), execution())
		if _, err := agent.Prompt(t.Context(), host, domain.Prompt{Turn: 1, History: history}); err != nil {
			t.Fatal(err)
		}
		more := append(history[:1:1], domain.Message{Role: domain.RoleAssistant, Text: "Full."}, domain.Message{Role: domain.RoleUser, Text: "And now?"})
		if _, err := agent.Prompt(t.Context(), host, domain.Prompt{Turn: 2, History: more}); err != nil {
			t.Fatal(err)
		}
	})
	for n, request := range v.requests() {
		want(t, "what the model is asked", request.body.Messages[1].Content, "Which of\n\nThe file \"disks.csv\":\n\nhost,used\ndb1,91%\n\n\nfills up?")
		want(t, "messages", len(request.body.Messages), []int{2, 4}[n])
	}
	want(t, "requests", len(v.requests()), 2)
	want(t, "the parts of the caller", len(history[0].Parts), 3)
}

// TestOlderTextFilesMakeRoom: the text files of a conversation are bounded together, and the model is told of those that it is not given.
func TestOlderTextFilesMakeRoom(t *testing.T) {
	v := &vendor{replies: []reply{saysOnly("Yes.")}}
	host := &hosttest.Host{}
	said := func(name string, size int64) domain.Message {
		stored := host.Store(name, domain.MediaPlain, []byte("content of "+name))
		return domain.Message{Role: domain.RoleUser, Parts: []domain.PromptPart{
			{Type: domain.PartFile, FileID: stored.ID, Name: name, MediaType: domain.MediaPlain, Size: size},
		}}
	}
	answer := domain.Message{Role: domain.RoleAssistant, Text: "Yes."}
	history := []domain.Message{
		said("small.txt", 10), answer, said("oldest.txt", domain.MaxPromptBytes/2), answer, said("older.txt", domain.MaxPromptBytes/2), answer,
		said("newest.txt", domain.MaxPromptBytes/4),
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := open(t, config(v), execution()).Prompt(t.Context(), host, domain.Prompt{Turn: 4, History: history}); err != nil {
			t.Fatal(err)
		}
	})
	var texts []string
	for _, message := range v.requests()[0].body.Messages {
		if message.Role == "user" {
			texts = append(texts, message.Content)
		}
	}
	want(t, "what the model is asked", strings.Join(texts, "\n"), "The file \"small.txt\":\n\ncontent of small.txt\n"+
		"[file oldest.txt] was left out: the newer files leave no room for it.\n"+
		"The file \"older.txt\":\n\ncontent of older.txt\nThe file \"newest.txt\":\n\ncontent of newest.txt")
}

// TestAFileThatIsGone: the model is not asked about a file that cannot be read.
func TestAFileThatIsGone(t *testing.T) {
	v := &vendor{}
	gone := []domain.PromptPart{{Type: domain.PartFile, FileID: "file_gone", MediaType: domain.MediaPlain}}
	_, err := open(t, config(v), execution()).Prompt(t.Context(), &hosttest.Host{}, domain.Prompt{Turn: 1, History: []domain.Message{{Role: domain.RoleUser, Parts: gone}}})
	if domain.CodeOf(err) != domain.CodeNotFound || len(v.requests()) > 0 {
		t.Errorf("%v after %d requests", err, len(v.requests()))
	}
}

// TestFilesThatAModelIsNotSent: nothing is left out in silence, also for a fallback.
func TestFilesThatAModelIsNotSent(t *testing.T) {
	c := config(&vendor{})
	c.Default = "test"
	c.Models["demo"] = llm.Model{Provider: "demo"}
	c.Models["gemini"] = llm.Model{Provider: "gemini", Model: "m", APIKey: testKey, APIKeyEnv: "TEST_KEY"}
	registry, err := llm.NewRegistry(c, tools.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	text := domain.PromptPart{Type: domain.PartFile, MediaType: domain.MediaCSV}
	photo := domain.PromptPart{Type: domain.PartImage, MediaType: domain.MediaJPEG}
	if err := registry.CheckParts(domain.Source{Model: "demo"}, "/prompt", []domain.PromptPart{text}); err != nil {
		t.Error("a text file: ", err)
	}
	for _, source := range []domain.Source{{Model: "demo"}, {Model: "test", Fallbacks: []string{"demo"}}} {
		err := registry.CheckParts(source, "/prompt", []domain.PromptPart{text, photo})
		if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "image/jpeg") {
			t.Errorf("a picture for %+v: %v", source, err)
		}
	}
	moving := domain.PromptPart{Type: domain.PartImage, MediaType: domain.MediaGIF}
	for model, refused := range map[string]bool{"test": false, "gemini": true} {
		if err := registry.CheckParts(domain.Source{Model: model}, "/prompt", []domain.PromptPart{photo, moving}); (err != nil) != refused {
			t.Errorf("a GIF for %s: %v", model, err)
		}
	}
}

// TestAPictureThatIsRead: the model is shown the picture that it has read with the tool, and the log names it with the result.
func TestAPictureThatIsRead(t *testing.T) {
	png := "\x89PNG\r\n\x1a\ngauge"
	host := &hosttest.Host{Files: fstest.MapFS{"gauge.png": {Data: []byte(png)}}}
	read := calls(`{"index":0,"id":"x","type":"function","function":{"name":"read","arguments":"{\"path\":\"gauge.png\"}"}}`)
	model := &recorder{replies: []reply{streams(read, ends("tool_calls"), done), saysOnly("42")}}
	synctest.Test(t, func(t *testing.T) {
		if _, err := open(t, config(model), execution()).Prompt(t.Context(), host, prompt("What does it show?")); err != nil {
			t.Error(err)
		}
		host.Finish(t, true)
	})
	if len(model.bodies) != 2 || !strings.Contains(model.bodies[1], `"data:image/png;base64,`+base64.StdEncoding.EncodeToString([]byte(png))+`"`) {
		t.Errorf("%.3000q", model.bodies)
	}
	if done := hosttest.Of[domain.ToolCallCompleted](host); len(done) != 1 || len(done[0].Files) != 1 || done[0].Files[0].Name != "gauge.png" {
		t.Errorf("%+v", done)
	}
}

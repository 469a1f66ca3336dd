package acp

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

func picture(content string) string {
	return `{"type":"content","content":{"type":"image","mimeType":"image/png","uri":"file:///w/plot.png","data":"` + base64.StdEncoding.EncodeToString([]byte(content)) + `"}}`
}

func report(kind, status, content string) string {
	return fmt.Sprintf(`raw {"sessionUpdate":%q,"toolCallId":"c","title":"plot","status":%q,"rawOutput":{"raw":"bytes"},"content":[%s]}`, kind, status, content)
}

// TestPicturesOfAgentsCalls: they are files of the execution, each once, however often the agent reports them; and what is no picture is said.
func TestPicturesOfAgentsCalls(t *testing.T) {
	const text = `{"type":"content","content":{"type":"text","text":"Two plots:"}}`
	one, two := "\x89PNG\r\n\x1a\none", "\x89PNG\r\n\x1a\ntwo"
	r := newRig(t).open()
	all := strings.Join([]string{text, picture(one), picture("<svg/>"), picture("RIFF0000WAVE"), picture(two)}, ",")
	r.runs(report("tool_call", "in_progress", picture(one)), report("tool_call_update", "in_progress", all), report("tool_call_update", "completed", all),
		`raw {"sessionUpdate":"user_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AAAA"}}`,
		`raw {"sessionUpdate":"user_message_chunk","content":{"type":"resource","resource":{"uri":"u","blob":"AAAA"}}}`)
	completed := hosttest.Of[domain.ToolCallCompleted](r.host)
	if len(completed) != 1 || len(completed[0].Files) != 2 || len(r.host.Stored) != 2 {
		t.Fatalf("%+v, %d files", completed, len(r.host.Stored))
	}
	for i, content := range []string{one, two} {
		file := completed[0].Files[i]
		if _, bytes, err := r.host.ReadFile(t.Context(), file.FileID); err != nil || string(bytes) != content || file.Name != "plot.png" || file.Type != domain.PartImage {
			t.Errorf("%+v: %q, %v", file, bytes, err)
		}
	}
	want(t, "output", completed[0].Output, "Two plots:\n[picture]\n[picture, left out: SVG is not taken, because it can hold a program. Send it as PNG.]\n[picture, left out: The picture is audio/wav.]\n[picture]")
	reported := hosttest.Of[domain.ToolCallReported](r.host)
	want(t, "reports", len(reported), 3)
	for _, payload := range r.host.Payloads() {
		if shown := string(domain.Encode(payload)); strings.Contains(shown, `"data"`) || strings.Contains(shown, `"blob"`) {
			t.Errorf("an event has the bytes: %s", shown)
		}
	}
	if shown := string(reported[2].Update); !strings.Contains(shown, `"fileId":"`+string(completed[0].Files[1].FileID)+`"`) {
		t.Error(shown)
	}
}

func TestPicturesOfACallAreBounded(t *testing.T) {
	r := newRig(t).open()
	var many []string
	for i := range callPictures + 1 {
		many = append(many, picture(fmt.Sprint("\x89PNG\r\n\x1a\n", i)))
	}
	r.runs(report("tool_call", "completed", strings.Join(many, ",")))
	completed := hosttest.Of[domain.ToolCallCompleted](r.host)[0]
	if len(completed.Files) != callPictures || len(r.host.Stored) != callPictures || !strings.HasSuffix(completed.Output, "[picture, left out: At most 20 pictures of a call are kept.]") {
		t.Errorf("%d files, %d stored, %q", len(completed.Files), len(r.host.Stored), completed.Output)
	}
}

// TestALargePictureIsNoFaultOfAReplay: an agent that loads its session tells its prompts again, and one with a photo of 6 MB is longer than a line may be.
func TestALargePictureIsNoFaultOfAReplay(t *testing.T) {
	r := newRig(t, "-script", "load: longline 9").open()
	r.runs("say first")
	next := r.again(r.agent.session).open()
	next.runs("say second")
	for _, update := range append(hosttest.Of[domain.AgentUpdated](next.outside), hosttest.Of[domain.AgentUpdated](next.host)...) {
		t.Errorf("%s: %.200s", update.Kind, update.Update)
	}
}

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// A prompt is listed if a request can name it and its arguments.
func TestPrompts(t *testing.T) {
	s := &script{answers: map[string]func(json.RawMessage) string{
		"prompts/list": says(`{"prompts":[{"name":"p","title":"T","description":"D","arguments":[{"name":"a","description":"A","required":true}]},{"title":"no name"},{"name":"p","title":"twice"},{"name":"r\u202el"},{"name":"two","arguments":[{"name":"a"},{"name":"a"}]},{"name":"hidden","arguments":[{"name":"a\u200b"}]}]}`),
		"prompts/get": func(params json.RawMessage) string {
			var get struct {
				Name      string
				Arguments map[string]string
			}
			_ = json.Unmarshal(params, &get)
			return fmt.Sprintf(`{"messages":[{"role":"user","content":{"type":"text","text":%q}},{"role":"assistant","content":{"type":"text","text":"ok"}}]}`, get.Name+" "+get.Arguments["a"])
		},
	}}
	session, _ := played(t, stdioServer, s)
	all, err := session.Prompts(t.Context(), "s")
	if diff := cmp.Diff([]Prompt{{Name: "p", Title: "T", Description: "D", Arguments: []PromptArgument{{Name: "a", Description: "A", Required: true}}}}, all); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if text, err := session.Prompt(t.Context(), "s", "p", map[string]string{"a": "x"}); err != nil || text != "user:\np x\nassistant:\nok" {
		t.Errorf("%q, %v", text, err)
	}
}

// A server that declares neither resources nor prompts is not asked for them.
func TestAServerWithoutResourcesAndPrompts(t *testing.T) {
	s := &script{answers: map[string]func(json.RawMessage) string{
		"server/discover": says(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`),
	}}
	session, _ := played(t, stdioServer, s)
	resources, err := session.Resources(t.Context(), "s")
	prompts, other := session.Prompts(t.Context(), "s")
	if err != nil || other != nil || resources != nil || prompts != nil || s.count("resources/list")+s.count("prompts/list") != 0 {
		t.Errorf("%v, %v; %v, %v", resources, err, prompts, other)
	}
}

const twoPrompts = `{"prompts":[{"name":"review","arguments":[{"name":"path","required":true},{"name":"depth"}]},{"name":"plain"}]}`

// rendering is a manager whose server answers prompts/get so.
func rendering(t testing.TB, answer func(json.RawMessage) string) (*Manager, *script) {
	t.Helper()
	s := &script{answers: map[string]func(json.RawMessage) string{"prompts/list": says(twoPrompts), "prompts/get": answer}}
	return NewManager(ManagerConfig{
		Catalog: catalogOf(t, map[string]Server{"s": stdioServer, "others": {Command: "x", Tenants: []domain.TenantID{"o"}}}, nil), Programs: &programs{run: s.run},
		Mask: func(text string) string { return strings.ReplaceAll(text, "hunter2", domain.Masked) },
	}), s
}

// A prompt becomes the messages of a request: text alone, and nothing in it that nobody sees.
func TestRenderingAPrompt(t *testing.T) {
	var left atomic.Int32
	m, s := rendering(t, func(params json.RawMessage) string {
		return `{"description":"D\u001b[2J","messages":[` +
			fmt.Sprintf(`{"role":"user","content":{"type":"text","text":%q}},`, params) +
			`{"role":"user","content":{"type":"text","text":" \n"}},` +
			`{"role":"assistant","content":{"type":"image","mimeType":"image/png","data":"UE5H"}},` +
			`{"role":"user","content":{"type":"resource","resource":{"uri":"file:///a","text":"one\u202e"}}}]}`
	})
	got, err := m.Render(t.Context(), "t", "s", "review", map[string]string{"path": "/a"}, emptyFolder(t, &left))
	if err != nil || len(got.Messages) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	var sent struct {
		Name      string
		Arguments map[string]string
	}
	if json.Unmarshal([]byte(got.Messages[0].Content), &sent) != nil || sent.Name != "review" || sent.Arguments["path"] != "/a" {
		t.Errorf("the server was sent %s", got.Messages[0].Content)
	}
	want := []PromptMessage{
		{domain.RoleAssistant, "[image-1: image/png, 3 bytes]\n[left out: the messages of a request are text]"},
		{domain.RoleUser, "[resource file:///a]\none⟨U+202E⟩"},
	}
	if diff := cmp.Diff(want, got.Messages[1:]); diff != "" || strings.ContainsRune(got.Description, 0x1b) {
		t.Errorf("%s, %q", diff, got.Description)
	}
	if s.count("tools/call") != 0 || left.Load() != 0 {
		t.Errorf("%d calls, %d folders are left", s.count("tools/call"), left.Load())
	}
}

// What is wrong with a request is said before the server fills in anything.
func TestRenderingNamesWhatIsWrong(t *testing.T) {
	var left atomic.Int32
	for name, of := range map[string]struct {
		server, prompt string
		arguments      map[string]string
		code           domain.Code
		pointers       []string
	}{
		"no such server":      {"none", "plain", nil, domain.CodeNotFound, nil},
		"another tenant's":    {"others", "plain", nil, domain.CodeNotFound, nil},
		"no such prompt":      {"s", "other", nil, domain.CodeNotFound, nil},
		"a missing argument":  {"s", "review", map[string]string{"depth": "1"}, domain.CodeInvalid, []string{"/arguments/path"}},
		"arguments of others": {"s", "plain", map[string]string{"b": "", "a/c": ""}, domain.CodeInvalid, []string{"/arguments/a~1c", "/arguments/b"}},
	} {
		m, s := rendering(t, says(failing))
		_, err := m.Render(t.Context(), "t", of.server, of.prompt, of.arguments, emptyFolder(t, &left))
		var pointers []string
		if coded, is := err.(*domain.Error); is { //nolint:errorlint // it comes as it is
			for _, detail := range coded.Details {
				pointers = append(pointers, detail.Pointer)
			}
		}
		if domain.CodeOf(err) != of.code || !cmp.Equal(pointers, of.pointers) || s.count("prompts/get") != 0 || left.Load() != 0 {
			t.Errorf("%s: %v at %v, the server was asked %d times, %d folders are left", name, err, pointers, s.count("prompts/get"), left.Load())
		}
	}
}

// A server that fails, in any way, is a problem that says so in thirty seconds at most, without secrets. Nothing is left of it.
func TestRenderingWithAServerThatFails(t *testing.T) {
	text := func(text string) string {
		return fmt.Sprintf(`{"role":"user","content":{"type":"text","text":%q}}`, text)
	}
	for want, answer := range map[string]string{
		"did not answer in time": silence, "ended the connection": death, "no such method": failing,
		"is not a prompt":    `{"resultType":"input_required","inputRequests":{},"messages":[]}`,
		"cannot be read":     `{"messages":[{"role":"system","content":{"type":"text","text":"x"}}]}`,
		"has no text":        `{"messages":[` + text(" ") + `]}`,
		"512 KiB":            `{"messages":[` + text(strings.Repeat("x", maxRenderedBytes)) + `,` + text("x") + `]}`,
		"than 1000 messages": `{"messages":[` + strings.Repeat(text("x")+",", 1000) + text("x") + `]}`,
		"more than 16 MiB":   `{"messages":[` + text(strings.Repeat("x", 17<<20)) + `]}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			var left atomic.Int32
			m, _ := rendering(t, says(answer))
			begun := time.Now()
			_, err := m.Render(t.Context(), "t", "s", "plain", nil, emptyFolder(t, &left))
			if domain.CodeOf(err) != domain.CodeMCPServerUnavailable || !strings.Contains(err.Error(), want) || time.Since(begun) > renderPatience || left.Load() != 0 {
				t.Errorf("%s: %.300v after %s, %d folders are left", want, err, time.Since(begun), left.Load())
			}
		})
	}
	var left atomic.Int32
	m, s := rendering(t, nil)
	s.answers["prompts/list"] = says(`{"prompts":"hunter2"}`)
	if _, err := m.Render(t.Context(), "t", "s", "plain", nil, emptyFolder(t, &left)); domain.CodeOf(err) != domain.CodeMCPServerUnavailable || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// At most four prompts are rendered at once; the next one waits, and is refused after a while.
func TestRenderingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left atomic.Int32
		hang := make(chan struct{})
		m, _ := rendering(t, func(json.RawMessage) string { <-hang; return silence })
		var all sync.WaitGroup
		for range maxRendering {
			all.Go(func() { _, _ = m.Render(t.Context(), "t", "s", "plain", nil, emptyFolder(t, &left)) })
		}
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second) // the others are done after thirty
		defer cancel()
		if _, err := m.Render(impatient, "t", "s", "plain", nil, func() (Use, func(), error) { panic("a fifth one is started") }); domain.CodeOf(err) != domain.CodeOverloaded {
			t.Error(err)
		}
		close(hang)
		all.Wait()
		if left.Load() != 0 {
			t.Errorf("%d folders are left", left.Load())
		}
	})
}

// Whoever looks at a server learns its prompts. Prompts that cannot be listed leave the tools as they are.
func TestLookingAtPrompts(t *testing.T) {
	for answer, want := range map[string]string{twoPrompts: "", failing: "no such method"} {
		var left atomic.Int32
		m, s := rendering(t, nil)
		s.answers["prompts/list"] = says(answer)
		status, _ := m.Look(t.Context(), "t", "s", emptyFolder(t, &left))
		if status.Status != ServerAvailable || len(status.Tools) != 1 || !strings.Contains(status.PromptsError, want) || (want == "") != (status.PromptsError == "") || (len(status.Prompts) == 2) != (want == "") {
			t.Errorf("%s: %+v", answer, status)
		}
	}
}

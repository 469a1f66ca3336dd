package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// TestResults turns what a tool says into text and files.
func TestResults(t *testing.T) {
	picture := base64.StdEncoding.EncodeToString([]byte("PNG"))
	many := strings.TrimSuffix(strings.Repeat(`{"type":"image","mimeType":"image/png","data":"`+picture+`"},`, 21), ",")
	for name, row := range map[string]struct {
		result, output string // what the tool sends, and its output schema
		want           Result
	}{
		"text":          {`{"content":[{"type":"text","text":"a\tb\r\nc"},{"type":"text","text":"d"}]}`, "", Result{Text: "a\tb\nc\nd"}},
		"nothing":       {`{"content":[]}`, "", Result{}},
		"a failure":     {`{"content":[{"type":"text","text":"no"}],"isError":true}`, `{"type":"object"}`, Result{Text: "no", Failed: true}},
		"control codes": {`{"content":[{"type":"text","text":"\u001b[2J\u0000\u202e\u0085"}]}`, "", Result{Text: "⟨U+001B⟩[2J⟨U+0000⟩⟨U+202E⟩⟨U+0085⟩"}},
		"a picture and a sound": {`{"content":[{"type":"image","mimeType":"image/png","data":"` + picture + `"},{"type":"audio","mimeType":"audio/wav\n\u001b","data":"` + picture + `"}]}`, "",
			Result{Text: "[image-1: image/png, 3 bytes]\n[audio-2: audio/wav ⟨U+001B⟩, 3 bytes]", Files: []Blob{
				{Name: "image-1", MediaType: "image/png", Content: []byte("PNG")}, {Name: "audio-2", MediaType: "audio/wav ⟨U+001B⟩", Content: []byte("PNG")}}}},
		"no base64":      {`{"content":[{"type":"image","mimeType":"image/png","data":"!"}]}`, "", Result{Text: "[a part of the result that cannot be read]"}},
		"a text file":    {`{"content":[{"type":"resource","resource":{"uri":"file:///a\nb","text":"in\u0007side"}}]}`, "", Result{Text: "[resource file:///a b]\nin⟨U+0007⟩side"}},
		"an empty file":  {`{"content":[{"type":"resource","resource":{"uri":"file:///a","text":""}}]}`, "", Result{Text: "[resource file:///a]\n"}},
		"a binary file":  {`{"content":[{"type":"resource","resource":{"uri":"x:y","mimeType":"a/b","blob":"` + picture + `"}}]}`, "", Result{Text: "[resource x:y]\n[resource-1: a/b, 3 bytes]", Files: []Blob{{Name: "resource-1", MediaType: "a/b", Content: []byte("PNG")}}}},
		"no resource":    {`{"content":[{"type":"resource"}]}`, "", Result{Text: "[a resource without contents]"}},
		"a link":         {`{"content":[{"type":"resource_link","uri":"https://x.example/","name":"n","description":"d"}]}`, "", Result{Text: "[link to the resource https://x.example/; n; d]"}},
		"unknown parts":  {`{"content":[{"type":"video"},7,null]}`, "", Result{Text: "[a part of the unknown type \"video\"]\n[a part of the result that cannot be read]\n[a part of the unknown type \"\"]"}},
		"structured":     {`{"content":[],"structuredContent":{"id":9007199254740993}}`, `{"type":"object"}`, Result{Text: "{\n  \"id\": 9007199254740993\n}", Structured: json.RawMessage(`{"id":9007199254740993}`)}},
		"both":           {`{"content":[{"type":"text","text":"a"}],"structuredContent":[1]}`, "", Result{Text: "a", Structured: json.RawMessage(`[1]`)}},
		"none promised":  {`{"content":[{"type":"text","text":"a"}]}`, `{"type":"object"}`, Result{Text: "a\n[The tool promises a structured result, and sent none.]"}},
		"a misfit":       {`{"content":[{"type":"text","text":"a"}],"structuredContent":{"n":"x"}}`, `{"type":"object","properties":{"n":{"type":"integer"}}}`, Result{Text: "a\n[The structured result does not fit the tool's output schema: at \"/n\": got string, want integer.]", Structured: json.RawMessage(`{"n":"x"}`)}},
		"a wrong schema": {`{"content":[{"type":"text","text":"a"}],"structuredContent":{}}`, `{"$ref":"https://x.example/"}`, Result{Text: "a\n[The structured result was not checked, because the tool's output schema cannot be used.]", Structured: json.RawMessage(`{}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			definition := toolOf("t", "")
			if row.output != "" {
				definition = strings.TrimSuffix(definition, "}") + `,"outputSchema":` + row.output + `}`
			}
			session, _ := played(t, stdioServer, &script{answers: map[string]func(json.RawMessage) string{"tools/list": says(listOf(definition)), "tools/call": says(row.result)}})
			answer, err := call(t, session, "t", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, answer.Result); diff != "" {
				t.Error(diff)
			}
		})
	}
	session, _ := played(t, stdioServer, &script{answers: map[string]func(json.RawMessage) string{"tools/call": says(`{"content":[` + many + `]}`)}})
	if answer, err := session.Call(t.Context(), theCall(t)); err != nil || len(answer.Result.Files) != maxFiles || !strings.HasSuffix(answer.Result.Text, "[image: left out, because a result has at most 20 files]") {
		t.Errorf("%v", err)
	}
}

// TestArgumentsGoAsTheyAre keeps what was approved, byte for byte but for blanks.
func TestArgumentsGoAsTheyAre(t *testing.T) {
	for _, over := range []string{"stdio", "http"} {
		var sent struct{ Arguments json.RawMessage }
		s := &script{answers: map[string]func(json.RawMessage) string{"tools/call": func(params json.RawMessage) string {
			_ = json.Unmarshal(params, &sent)
			return `{"content":[]}`
		}}}
		session, _ := played(t, stdioServer, s)
		if over == "http" {
			session = opened(t, Server{URL: answering(t, s, nil).URL}, nil)
		}
		const arguments = `{"z":9007199254740993,"a":"<é>\u2028","b":1e400,"c":[]}`
		if _, err := call(t, session, "t", arguments); err != nil || !sameJSON(t, string(sent.Arguments), arguments) || !strings.HasPrefix(string(sent.Arguments), `{"z":9007199254740993,"a"`) {
			t.Errorf("%s: %s, %v", over, sent.Arguments, err)
		}
	}
}

func TestResources(t *testing.T) {
	pages := first(`{"resources":[{"uri":"file:///a","name":"A\u202e","title":"T","description":"D","mimeType":"text/plain","size":7},{"name":"no uri"},7],"nextCursor":"n"}`, `{"resources":[{"uri":"file:///b","name":"B"}]}`)
	s := &script{answers: map[string]func(json.RawMessage) string{
		"resources/list":           pages,
		"resources/templates/list": says(`{"resourceTemplates":[{"uriTemplate":"file:///{path}","name":"F"},{"name":"no uri"}]}`),
		"resources/read": func(params json.RawMessage) string {
			var read struct{ URI string }
			_ = json.Unmarshal(params, &read)
			return fmt.Sprintf(`{"contents":[{"uri":%q,"text":"one"},{"uri":"x:y","blob":"UE5H"}]}`, read.URI)
		},
	}}
	session, _ := played(t, stdioServer, s)
	all, err := session.Resources(t.Context(), "s")
	want := []Resource{{URI: "file:///a", Name: "A⟨U+202E⟩", Title: "T", Description: "D", MediaType: "text/plain", Size: 7}, {URI: "file:///b", Name: "B"}, {URI: "file:///{path}", Template: true, Name: "F"}}
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Error(err, diff)
	}
	got, err := session.Read(t.Context(), "s", "file:///a")
	if err != nil || got.Text != "[resource file:///a]\none\n[resource x:y]\n[resource-1: , 3 bytes]" || len(got.Files) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestListsOfResourcesAndPromptsAreBounded looks at what a server may send in place of them.
func TestListsOfResourcesAndPromptsAreBounded(t *testing.T) {
	n := 0
	many := func(field, item string) func(json.RawMessage) string {
		return func(json.RawMessage) string {
			n++
			return fmt.Sprintf(`{%q:[%s],"nextCursor":"%d"}`, field, strings.TrimSuffix(strings.Repeat(item+",", 300), ","), n)
		}
	}
	for name, result := range map[string]func(field string) func(json.RawMessage) string{
		"more than 1000": func(field string) func(json.RawMessage) string { return many(field, `{"uri":"u","name":"n"}`) },
		"more than 1 MiB": func(field string) func(json.RawMessage) string {
			return many(field, `{"uri":"`+strings.Repeat("u", 4000)+`"}`)
		},
		"does not end": func(field string) func(json.RawMessage) string {
			return says(fmt.Sprintf(`{%q:[],"nextCursor":"x"}`, field))
		},
		"cannot be read":     func(field string) func(json.RawMessage) string { return says(`{}`) },
		"no such method":     func(field string) func(json.RawMessage) string { return says(failing) },
		"ended the connecti": func(field string) func(json.RawMessage) string { return says(death) },
	} {
		s := &script{answers: map[string]func(json.RawMessage) string{"resources/list": result("resources"), "prompts/list": result("prompts")}}
		resources, _ := played(t, stdioServer, s)
		_, err := resources.Resources(t.Context(), "s")
		prompts, _ := played(t, stdioServer, s)
		_, other := prompts.Prompts(t.Context(), "s")
		for _, err := range []error{err, other} {
			if domain.CodeOf(err) != domain.CodeToolFailed || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %.300v", name, err)
			}
		}
	}
	session, _ := played(t, stdioServer, &script{answers: map[string]func(json.RawMessage) string{
		"resources/read": says(`{"resultType":"input_required","inputRequests":{}}`), "prompts/get": says(`{"messages":[{"role":"user","content":7}]}`),
	}})
	if _, err := session.Read(t.Context(), "s", "x:y"); domain.CodeOf(err) != domain.CodeToolFailed {
		t.Error(err)
	}
	if _, err := session.Prompt(t.Context(), "s", "p", nil); domain.CodeOf(err) != domain.CodeToolFailed {
		t.Error(err)
	}
}

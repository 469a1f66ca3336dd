package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// TestModelsOfTheFile asks a model of the file, and holds what it is sent, and what is shown of it, against its entry.
func TestModelsOfTheFile(t *testing.T) {
	var sent map[string]any
	vendor := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		if request.Method == http.MethodPost {
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Error(err)
			}
			sent["header"] = request.Header.Get("X-Team")
		}
		answer.WriteHeader(http.StatusForbidden)
	}))
	defer vendor.Close()
	file, err := written(t, `
models:
  default: all
  all:
    provider: openai
    model: m
    baseUrl: `+vendor.URL+`
    effort: low
    maxOutputTokens: 4096
    temperature: 0
    seed: 7
    parallelToolCalls: false
    requestSettings: [effort, temperature]
    maxEffort: medium
    extraBody: {top_k: 3, guard: {modes: [a, {b: 1.5}]}}
    extraHeaders: {X-Team: ops}
  closed: {provider: openai, model: m, baseUrl: "http://127.0.0.1:1", requestSettings: []}
`).readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := file.openModels(tools.NewRegistry(), nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	shown := models{opened, file.Models.Models}.Models(t.Context())
	if diff := cmp.Diff([]string{"effort", "temperature"}, shown[0].Settings); diff != "" || shown[0].MaxOutputTokens != 4096 {
		t.Errorf("shown: %+v\n%s", shown[0], diff)
	}
	if diff := cmp.Diff(domain.Efforts[:4], shown[0].Efforts); diff != "" {
		t.Error(diff)
	}
	if len(shown[1].Settings)+len(shown[1].Efforts) > 0 {
		t.Errorf("shown: %+v", shown[1])
	}
	agent, err := opened.Open(t.Context(), domain.Opening{Execution: domain.Execution{Request: domain.Request{
		Source: domain.Source{Type: domain.SourceInternal, Model: "all"}, MaxIterations: 1,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	asked := domain.Prompt{Turn: 1, History: []domain.Message{{Role: domain.RoleUser, Text: "Go"}}}
	if _, err := agent.Prompt(t.Context(), &hosttest.Host{}, asked); domain.CodeOf(err) != domain.CodeModelUnauthorized {
		t.Error(err)
	}
	want := map[string]any{
		"reasoning_effort": "low", "max_tokens": 4096.0, "temperature": 0.0, "seed": 7.0, "top_k": 3.0, "header": "ops",
		"guard": map[string]any{"modes": []any{"a", map[string]any{"b": 1.5}}},
	}
	for name, value := range want {
		if diff := cmp.Diff(value, sent[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

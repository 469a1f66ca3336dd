package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// TestRunbooks is what a runbook's editor needs beside its agent blocks and generated blocks. First what can happen side by
// side, then what the end of the server leaves.
func TestRunbooks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := newStage(t, e)
		s.section("settings", object{"defaultTimeout": 240, "defaultApprovalTimeout": 1800, "defaultShell": "zsh"})
		s.section("blockTypes", object{"note": object{"description": "A note.", "propsSchema": object{"type": "object", "required": []string{"text"}}}})
		s.start()
		t.Run("side by side", func(t *testing.T) {
			for name, test := range map[string]func(t *testing.T, s *stage){
				"an assistant inserts blocks":                   insertedBlocks,
				"an assistant asks before it inserts":           askedInsertion,
				"an insertion that a person refuses":            refusedInsertion,
				"an insertion that the policy refuses":          forbiddenInsertion,
				"a class that is off has no tools":              withoutWriting,
				"blocks of an assistant that do not fit":        misfitInsertion,
				"two calls wait at once":                        twoWaitingCalls,
				"a call that the client cannot do":              failedCall,
				"answers that are unknown, double and too late": wrongAnswers,
				"a call that nobody answers":                    unansweredCall,
				"a declared tool and its schema":                declaredTool,
				"declarations that cannot be used":              badDeclarations,
				"another prompt in the place of a call":         interruptedCall,
				"a prompt that waits behind a call":             promptBehindACall,
				"arguments that the approver has written":       editedInsertion,
				"a preview of a template":                       previews,
				"the settings":                                  readSettings,
				"items say what the events say":                 itemsOfEvents,
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, s)
				})
			}
		})
		t.Run("the merged stream", func(t *testing.T) { mergedStream(t, s) })
		t.Run("kill -9", func(t *testing.T) { killedRunbooks(t, s) })
		t.Run("kill -9 again and again", func(t *testing.T) { killsOfGenerations(t, s) })
	})
}

func previews(t *testing.T, stage *stage) {
	s := stage.story(t, finally("not asked"))
	type preview struct {
		Text      string
		Variables []string
	}
	for name, row := range map[string]struct {
		body object
		want preview
	}{
		"an expression": {object{"template": "{{ doc.named['query'].output.rows | length }} rows of {{ host }}", "variables": object{
			"host": "db-1", "unused": 1, "doc": object{"named": object{"query": object{"output": object{"rows": []int{1, 2}}}}},
		}}, preview{"2 rows of db-1", []string{"doc.named['query'].output.rows", "host"}}},
		"a loop":                           {object{"template": "{% for r in rows %}{{ loop.index }}{{ r }}{% if not loop.last %},{% endif %}{% endfor %}", "variables": object{"rows": []string{"a", "b"}}}, preview{"1a,2b", []string{"rows"}}},
		"dollars":                          {object{"template": "${host} $host {{ host }}", "templateSyntax": "dollar", "variables": object{"host": "db-1"}}, preview{"db-1 $host {{ host }}", []string{"host"}}},
		"what is filled in is no template": {object{"template": "{{ a }}{{ b }}", "variables": object{"a": "{{ 7 * 7 }}", "b": "${a}"}}, preview{"{{ 7 * 7 }}${a}", []string{"a", "b"}}},
		"nothing to do":                    {object{"template": "plain"}, preview{"plain", []string{}}},
		"nothing is there":                 {object{"template": ""}, preview{"", []string{}}},
	} {
		got := want[preview](s.client, http.StatusOK, "POST", "/templates/render", row.body)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, row := range map[string]struct {
		body        object
		code, names string
	}{
		"undefined":            {object{"template": "{{ host }}"}, "templateFailed", "host"},
		"in pieces":            {object{"template": "{% if x %}"}, "templateFailed", ""},
		"not of the server":    {object{"template": "${HOME}", "templateSyntax": "dollar"}, "templateFailed", "HOME"},
		"without end":          {object{"template": "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}"}, "templateFailed", ""},
		"nothing":              {object{}, "invalid", "template"},
		"an unknown execution": {object{"template": "x", "outputsFrom": object{"x": someBlock}}, "invalid", ""},
	} {
		p := s.refused(http.StatusUnprocessableEntity, row.code, "POST", "/templates/render", row.body)
		if len(p.Errors) == 0 || !strings.Contains(p.Errors[0].Pointer+p.Errors[0].Message, row.names) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	reader := s.with(stage.newKey("--name", "reader", "--scopes", "executions:read"))
	reader.refused(http.StatusForbidden, "forbidden", "POST", "/templates/render", object{"template": "x"})
	if list := want[list[showing]](s.client, http.StatusOK, "GET", "/executions?limit=200", nil); len(list.Items) > 0 {
		for _, made := range list.Items {
			if made.Prompt == "plain" {
				t.Error("a preview has made an execution")
			}
		}
	}
}

func readSettings(t *testing.T, stage *stage) {
	s := stage.story(t, finally("fine"))
	type settings struct {
		Agents                        []string
		Models                        []string
		DefaultModel                  *string
		DefaultTimeoutSeconds         int
		DefaultApprovalTimeoutSeconds int
		DefaultCapabilities           map[string]string
		DefaultShell                  *string
		Features                      map[string]bool
		BlockTypes                    []struct{ Type, Description string }
		Limits                        map[string]int
	}
	got := want[settings](s.client, http.StatusOK, "GET", "/settings", nil)
	if got.DefaultTimeoutSeconds != 240 || got.DefaultApprovalTimeoutSeconds != 1800 || *got.DefaultShell != "zsh" || *got.DefaultModel != "test" ||
		!got.Features["blockGeneration"] || len(got.Models) != 1 || !slices.Contains(got.Agents, "opencode") || got.Limits["bodyBytes"] != 1<<20 ||
		got.DefaultCapabilities["read"] != "allow" || got.DefaultCapabilities["write"] != "ask" || got.DefaultCapabilities["execute"] != "ask" {
		t.Errorf("%+v", got)
	}
	if len(got.BlockTypes) != 1 || got.BlockTypes[0].Type != "note" || got.BlockTypes[0].Description != "A note." {
		t.Errorf("%+v", got.BlockTypes)
	}
	id := s.runs(object{})
	plain := want[struct{ TimeoutSeconds, ApprovalTimeoutSeconds int }](s.client, http.StatusOK, "GET", "/executions/"+id, nil)
	if plain.TimeoutSeconds != 240 || plain.ApprovalTimeoutSeconds != 1800 {
		t.Errorf("an execution that says nothing has %+v", plain)
	}
	s.over(id, domain.StatusCompleted)
	reader := s.with(stage.newKey("--name", "blind", "--scopes", "executions:read"))
	reader.refused(http.StatusForbidden, "forbidden", "GET", "/settings", nil)

	writer := stage.story(t, handsRaw(`{"blocks":[{"type":"note","props":{}}]}`), handsRaw(`{"blocks":[{"type":"note","props":{"text":"of the server"}}]}`))
	id = writer.generate() // the server's types count beside those of the request
	writer.rests(id, 1)
	writer.heardOf(2)
}

package e2e

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// TestSeed002 is the checklist for blocks that are generated in a runbook, line by line, and its edge cases. What a key
// does in the editor is the request that the editor then sends.
func TestSeed002(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, e engine) {
		s := newStage(t, e)
		dead := newModel(t, nil)
		s.models(object{"default": "test", "test": entry(s.model), "dead": entry(dead), "nowhere": entry(nowhere(t))})
		dead.use(refuses(http.StatusInternalServerError, "broken"))
		s.start()
		for name, test := range map[string]func(t *testing.T, s *stage){
			"Cmd/Ctrl+Enter triggers generation from text block":               triggered,
			"Blocks are inserted after the prompt block":                       placed,
			"Tab accepts and clears UI state":                                  tab,
			"Escape removes blocks and clears UI state":                        escape,
			"E enters edit mode":                                               editMode,
			"Edit prompt submission regenerates blocks":                        regenerated,
			"Multiple edits work correctly":                                    manyEdits,
			"Cancellation during generation works":                             cancelledInTheMiddle,
			"Error handling shows appropriate toasts":                          toasts,
			"Starting new generation while one is pending cancels the old one": superseded,
			"Empty prompt block (should not trigger)":                          emptyPrompt,
			"Generation while document is being edited elsewhere":              editedElsewhere,
			"Network errors during generation":                                 networkErrors,
			"Very long prompts":                                                longPrompts,
			"AI returns empty blocks array":                                    emptyBlocks,
			"AI returns malformed blocks":                                      malformedBlocks,
			"AI returns blocks that no database likes":                         hostileBlocks,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, s)
			})
		}
	})
}

// nowhere is a provider that nothing listens for.
func nowhere(t *testing.T) provider {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return address(listener.Addr().String())
}

type address string

func (a address) url() string { return "http://" + string(a) + "/v1" }

func triggered(t *testing.T, stage *stage) {
	s := stage.story(t,
		func(a *answer, _ []message) {
			a.Want("get_runbook_document", object{})
			a.Want("get_block_docs", object{"types": []string{"script"}})
			a.Want("get_default_shell", object{})
		},
		hands("df -h", "du -sh /var"),
	)
	id := s.generate()
	shown := s.rests(id, 1)
	if shown.Kind != "inlineBlockGeneration" || shown.Generation == nil || *shown.Generation != (generationSummary{1, "submitted"}) || shown.Output != nil {
		t.Errorf("%+v", shown)
	}
	if diff := cmp.Diff([]string{"get_block_docs", "get_default_shell", "get_runbook_document", "submit_blocks"}, s.tools()); diff != "" {
		t.Errorf("the tools (-want +got):\n%s", diff)
	}
	s.heardOf(2)
	told := s.requests()[1]
	for i, says := range []string{"Disks of 12", "It runs in the default shell.", "fish"} {
		if got := told[len(told)-3+i]; got.Role != "tool" || !strings.Contains(got.Content, says) {
			t.Errorf("told %+v, want %q", got, says)
		}
	}
	log := s.log(id)
	generated := of[domain.BlocksGenerated](t, log)
	if len(generated) != 1 || generated[0].Generation != 1 || generated[0].ToolCallID == "" || generated[0].Turn != 1 {
		t.Fatalf("generated: %+v", generated)
	}
	version := s.blocks(id).Versions[0]
	if version.ToolCallID != generated[0].ToolCallID || len(version.Blocks) != 2 || version.Blocks[1].Props.Code != "du -sh /var" {
		t.Errorf("%+v", version)
	}
	for _, done := range of[domain.ToolCallCompleted](t, log) {
		if done.ToolCallID == version.ToolCallID {
			t.Errorf("the call that handed in the blocks does not stay open: %+v", done)
		}
	}
}

func placed(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"))
	id := s.generate(object{"insertAfter": "b2"})
	s.rests(id, 1)
	generated := of[domain.BlocksGenerated](t, s.log(id))
	if len(generated) != 1 || generated[0].InsertAfter != "b2" || generated[0].DocumentRevision != "12" {
		t.Errorf("generated: %+v", generated)
	}
	if history := s.blocks(id); *history.InsertAfter != "b2" || *history.DocumentRevision != "12" {
		t.Errorf("%+v", history)
	}
	if said := system(s.requests()[0]); !strings.Contains(said, `"b2"`) {
		t.Errorf("the model does not know the place:\n%s", said)
	}
	nowhere := s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", s.generation(object{"insertAfter": "b9"}))
	if len(nowhere.Errors) != 1 || nowhere.Errors[0].Pointer != "/insertAfter" {
		t.Errorf("a place that is not there: %+v", nowhere)
	}
	body := s.generation()
	delete(body, "insertAfter")
	first := s.createdAs(body)
	s.rests(first, 1)
	if history := s.blocks(first); history.InsertAfter != nil {
		t.Errorf("at the beginning: %+v", history)
	}
}

func tab(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"))
	id := s.generate()
	s.rests(id, 1)
	if taken := s.accept(id, 1, "12"); taken.State != "accepted" || taken.AcceptedBy == nil || taken.Blocks[0].Props.Code != "df" {
		t.Errorf("%+v", taken)
	}
	shown := s.over(id, domain.StatusCompleted)
	if !shown.Output.Success || shown.Output.Error != nil || *shown.Generation != (generationSummary{1, "accepted"}) || len(shown.PendingToolCalls) > 0 {
		t.Errorf("%+v %+v", shown, shown.Output)
	}
	s.heardOf(1)
	log := s.log(id)
	if accepted := of[domain.BlocksAccepted](t, log); len(accepted) != 1 || accepted[0].Generation != 1 {
		t.Errorf("accepted: %+v", accepted)
	}
	if outcomes := of[domain.ToolCallCompleted](t, log); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeSucceeded {
		t.Errorf("outcomes: %+v", outcomes)
	}
	if again := s.accept(id, 1, "12"); again.State != "accepted" {
		t.Errorf("again: %+v", again)
	}
	if late := s.refused(http.StatusConflict, "executionEnded", "POST", "/executions/"+id+"/generation/edits", object{"text": "shorter"}); late.Generation == nil ||
		late.Execution.Status != "completed" {
		t.Errorf("an edit behind it: %+v", late)
	}
	for _, live := range want[list[showing]](s.client, http.StatusOK, "GET", "/executions?status=idle&limit=200", nil).Items {
		if live.ID == id {
			t.Error("it still lives")
		}
	}
}

func escape(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"))
	id := s.generate()
	s.rests(id, 1)
	s.cancel(id)
	s.over(id, domain.StatusCancelled)
	s.are(id, "cancelled")
	if late := s.refused(http.StatusConflict, "noGeneration", "POST", "/executions/"+id+"/generation/accept",
		object{"generation": 1, "documentRevision": "12"}); late.Generation.State != "cancelled" {
		t.Errorf("%+v", late)
	}
	log := s.log(id)
	if outcomes := of[domain.ToolCallCompleted](t, log); len(outcomes) != 1 || outcomes[0].Outcome != domain.OutcomeCancelled {
		t.Errorf("outcomes: %+v", outcomes)
	}
	if accepted := of[domain.BlocksAccepted](t, log); len(accepted) != 0 {
		t.Errorf("accepted: %+v", accepted)
	}
}

// editMode is a person who types: nothing is sent, and nothing moves.
func editMode(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"), hands("df -h"))
	id := s.generate()
	before := s.rests(id, 1)
	for _, blank := range []string{"", " \n\t"} {
		s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions/"+id+"/generation/edits", object{"text": blank})
	}
	if after := s.see(id); after.LastSeq != before.LastSeq || after.Status != "idle" || *after.Generation != (generationSummary{1, "submitted"}) {
		t.Errorf("before %+v, after %+v", before, after)
	}
	s.heardOf(1)
	s.edit(id, "with units")
	s.rests(id, 2)
}

// wire is a conversation as roles, with what matters of each.
func wire(conversation []message) (lines []string) {
	for _, m := range conversation[1:] {
		line := m.Role
		for _, call := range m.ToolCalls {
			line += " " + call.Function.Name + " " + call.Function.Arguments
		}
		if len(m.ToolCalls) == 0 {
			line += ": " + storyMark.ReplaceAllString(m.Content, "(story)")
		}
		lines = append(lines, line)
	}
	return lines
}

func regenerated(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"), hands("df -h"))
	id := s.generate()
	s.rests(id, 1)
	s.edit(id, "with units", object{"generation": 1})
	s.rests(id, 2)
	s.heardOf(2) // exactly one request follows the edit
	first, second := s.requests()[0], s.requests()[1]
	if diff := cmp.Diff([]string{
		"user: Check how full the disks are (story)",
		`assistant submit_blocks {"blocks":[{"props":{"code":"df"},"type":"script"}]}`,
		"tool: The blocks were shown to the person, who asks for changes.",
		"user: with units",
	}, wire(second)); diff != "" {
		t.Errorf("the request of the edit (-want +got):\n%s", diff)
	}
	if second[3].ToolCallID != second[2].ToolCalls[0].ID {
		t.Errorf("the result is of another call: %+v", second)
	}
	const changes = "You have handed in blocks before, in this conversation."
	if strings.Contains(system(first), changes) || !strings.Contains(system(second), changes) {
		t.Errorf("the system prompts:\n%s\n——— and\n%s", system(first), system(second))
	}
	s.are(id, "superseded", "submitted")
	if newest := s.blocks(id).Versions[1]; newest.Turn != 2 || newest.Blocks[0].Props.Code != "df -h" {
		t.Errorf("%+v", newest)
	}
	log := s.log(id)
	if queued := of[domain.PromptQueued](t, log); len(queued) != 1 || queued[0].Edits != 1 || queued[0].Text != "with units" {
		t.Errorf("queued: %+v", queued)
	}
	s.accept(id, 2, "12")
	s.over(id, domain.StatusCompleted)
}

func manyEdits(t *testing.T, stage *stage) {
	s := stage.story(t, hands("1"), hands("2"), hands("3"), hands("4", "4b"))
	id := s.generate()
	s.rests(id, 1)
	for turn, text := range []string{"second", "third", "fourth"} {
		s.edit(id, text)
		s.rests(id, turn+2)
	}
	s.heardOf(4)
	s.are(id, "superseded", "superseded", "superseded", "submitted")
	var said []string
	for _, m := range s.requests()[3] {
		if m.Role == "user" {
			said = append(said, m.Content)
		}
	}
	if diff := cmp.Diff([]string{s.prompt("Check how full the disks are"), "second", "third", "fourth"}, said); diff != "" {
		t.Error(diff)
	}
	old := s.refused(http.StatusConflict, "noGeneration", "POST", "/executions/"+id+"/generation/edits", object{"text": "x", "generation": 2})
	if old.Generation == nil || *old.Generation != (generationSummary{4, "submitted"}) {
		t.Errorf("an edit of old blocks: %+v", old)
	}
	s.refused(http.StatusConflict, "noGeneration", "POST", "/executions/"+id+"/generation/accept", object{"generation": 3, "documentRevision": "12"})
	s.accept(id, 4, "12")
	s.over(id, domain.StatusCompleted)
	s.are(id, "superseded", "superseded", "superseded", "accepted")
}

func cancelledInTheMiddle(t *testing.T, stage *stage) {
	first := stage.story(t, stalls)
	id := first.generate()
	first.reach(id, domain.StatusStreaming)
	first.refused(http.StatusConflict, "noGeneration", "POST", "/executions/"+id+"/generation/accept", object{"generation": 1, "documentRevision": "12"})
	first.cancel(id)
	first.over(id, domain.StatusCancelled)
	first.are(id)

	edit := stage.story(t, hands("df"), stalls)
	id = edit.generate()
	edit.rests(id, 1)
	edit.edit(id, "with units")
	edit.reach(id, domain.StatusStreaming)
	busy := edit.refused(http.StatusConflict, "busy", "POST", "/executions/"+id+"/generation/edits", object{"text": "x"})
	if busy.Execution == nil || busy.Generation == nil || busy.Generation.State != "submitted" {
		t.Errorf("another edit meanwhile: %+v", busy)
	}
	edit.refused(http.StatusConflict, "busy", "POST", "/executions/"+id+"/generation/accept", object{"generation": 1, "documentRevision": "12"})
	edit.cancel(id)
	edit.over(id, domain.StatusCancelled)
	edit.are(id, "cancelled")
}

// toasts are the errors that an editor tells apart.
func toasts(t *testing.T, stage *stage) {
	for name, row := range map[string]struct {
		step  script
		model string
		code  string
	}{
		"the model cannot be reached": {nil, "nowhere", "modelUnreachable"},
		"the model answers 500":       {nil, "dead", "modelFailed"},
		"the quota is exceeded":       {refuses(http.StatusTooManyRequests, "insufficient_quota"), "test", "quotaExceeded"},
		"the key is refused":          {refuses(http.StatusUnauthorized, "invalid_api_key"), "test", "modelUnauthorized"},
		"generation failed":           {finally("I would rather talk."), "test", "generationFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.story(t, row.step)
			id := s.generate(object{"source": object{"type": "internal", "model": row.model}, "retry": object{"forSeconds": 0}})
			if row.code != "generationFailed" {
				s.interruptedBy(id, row.code)
				s.are(id)
				return
			}
			shown := s.over(id, domain.StatusFailed)
			if shown.Output.Success || shown.Output.Error == nil || string(shown.Output.Error.Code) != row.code || shown.Output.Error.Message == "" {
				t.Errorf("%+v %+v", shown.Output, shown.Output.Error)
			}
			if ends := of[domain.ExecutionEnded](t, s.log(id)); len(ends) != 1 || string(ends[0].Error.Code) != row.code {
				t.Errorf("the end: %+v", ends)
			}
			s.are(id)
		})
	}
}

// interruptions are how often the execution was interrupted, and why.
func (s *story) interruptions(id string) (all []domain.StateChanged) {
	for _, changed := range of[domain.StateChanged](s.t, s.log(id)) {
		if changed.To == domain.StatusInterrupted {
			all = append(all, changed)
		}
	}
	return all
}

// interruptedBy waits until the provider has interrupted the execution, with the code of its failure.
func (s *story) interruptedBy(id, code string) {
	s.t.Helper()
	s.eventually("the interruption", func() bool { return s.see(id).Status == string(domain.StatusInterrupted) })
	if all := s.interruptions(id); len(all) != 1 || all[0].Cause != domain.CauseProvider || string(all[0].Code) != code || all[0].Reason == "" {
		s.t.Errorf("%+v", all)
	}
}

func superseded(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"), stalls, hands("df -h"), hands("other"))
	place := object{"runbookId": "disks"}
	old := s.generate(place)
	s.rests(old, 1)
	second := s.generate(place)
	s.replaced(old, second)
	s.are(old, "cancelled")
	s.reach(second, domain.StatusStreaming)
	third := s.generate(place)
	s.replaced(second, third)
	s.are(second)
	s.rests(third, 1)
	elsewhere := s.generate(place, object{"insertAfter": "b2"})
	s.rests(elsewhere, 1)
	s.accept(third, 1, "12")
	s.over(third, domain.StatusCompleted)
	if shown := s.see(elsewhere); shown.Status != "idle" {
		t.Errorf("another place: %+v", shown)
	}
}

// replaced expects that an execution was cancelled in favour of another one.
func (s *story) replaced(old, newest string) {
	s.t.Helper()
	s.over(old, domain.StatusCancelled)
	if ends := of[domain.ExecutionEnded](s.t, s.log(old)); len(ends) != 1 || ends[0].Reason != "superseded by "+newest {
		s.t.Errorf("the end: %+v", ends)
	}
}

func emptyPrompt(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"))
	for name, change := range map[string]object{
		"empty": {"prompt": ""}, "blank": {"prompt": " \n\t "}, "null": {"prompt": nil},
		"blank once it is rendered": {"prompt": "{{ text }}", "variables": object{"text": "  "}},
	} {
		p := s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", s.generation(change))
		if len(p.Errors) == 0 || p.Errors[0].Pointer != "/prompt" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	body := s.generation()
	delete(body, "prompt")
	s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", body)
	s.heardOf(0)
}

func editedElsewhere(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"), calls("get_runbook_document", object{}), hands("df -h"))
	id := s.generate()
	s.rests(id, 1)
	path := "/executions/" + id + "/generation/accept"
	s.refused(http.StatusPreconditionRequired, "revisionRequired", "POST", path, object{"generation": 1})
	changed := s.refused(http.StatusConflict, "documentChanged", "POST", path, object{"generation": 1, "documentRevision": "13"})
	if changed.Execution == nil || changed.Execution.Status != "idle" || changed.Generation == nil || *changed.Generation != (generationSummary{1, "submitted"}) {
		t.Errorf("%+v", changed)
	}
	s.edit(id, "The document has changed.", object{"document": notebook("13")})
	s.rests(id, 2)
	if told := last(s.requests()[2]); !strings.Contains(told.Content, "Disks of 13") {
		t.Errorf("the model was shown %+v", told)
	}
	s.refused(http.StatusConflict, "documentChanged", "POST", path, object{"generation": 2, "documentRevision": "12"})
	if taken := s.accept(id, 2, "13"); *taken.DocumentRevision != "13" {
		t.Errorf("%+v", taken)
	}
	s.over(id, domain.StatusCompleted)
}

func networkErrors(t *testing.T, stage *stage) {
	s := stage.story(t, breaks, hands("df"))
	id := s.generate()
	s.rests(id, 1)
	s.heardOf(2)
	if again := of[domain.ModelRetrying](t, s.log(id)); len(again) != 1 || again[0].Code != domain.CodeModelStreamBroken {
		t.Errorf("retrying: %+v", again)
	}
	s.accept(id, 1, "12")
	if shown := s.over(id, domain.StatusCompleted); shown.Output.Text != "" {
		t.Errorf("the output is of the attempt that broke: %+v", shown.Output)
	}
}

func longPrompts(t *testing.T, stage *stage) {
	s := stage.story(t, hands("df"))
	long := s.prompt(strings.Repeat("x", 999_900))
	id := s.generate(object{"prompt": long})
	s.rests(id, 1)
	if heard := s.requests()[0]; last(heard).Content != long {
		t.Errorf("the model was sent %d characters of %d", len(last(heard).Content), len(long))
	}
	p := s.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", s.generation(object{"prompt": strings.Repeat("x", 1_000_001)}))
	if len(p.Errors) != 1 || p.Errors[0].Pointer != "/prompt" {
		t.Errorf("%+v", p)
	}
	s.refused(http.StatusRequestEntityTooLarge, "payloadTooLarge", "POST", "/executions", s.generation(object{"prompt": strings.Repeat("x", 1<<20)}))
	s.heardOf(1)
}

func emptyBlocks(t *testing.T, stage *stage) {
	s := stage.story(t, handsRaw(`{"blocks":[]}`), hands("df"))
	id := s.generate()
	s.rests(id, 1)
	s.are(id, "submitted")
	s.heardOf(2)
	if told := last(s.requests()[1]); told.Role != "tool" || !strings.Contains(told.Content, "/blocks") {
		t.Errorf("told: %+v", told)
	}
	always := stage.story(t, handsRaw(`{"blocks":[]}`))
	id = always.generate()
	if shown := always.over(id, domain.StatusFailed); shown.Output.Error.Code != domain.CodeGenerationFailed {
		t.Errorf("%+v", shown.Output.Error)
	}
	always.heardOf(3)
	always.are(id)
}

func malformedBlocks(t *testing.T, stage *stage) {
	for name, row := range map[string]struct{ arguments, says string }{
		"no blocks":                {`{}`, "blocks"},
		"no list":                  {`{"blocks":"df"}`, "/blocks"},
		"no JSON":                  {`{"blocks":[{"type":`, "JSON"},
		"no object":                {`{"blocks":["df"]}`, "/blocks/0"},
		"no type":                  {`{"blocks":[{"props":{"code":"df"}}]}`, "/blocks/0"},
		"an unknown type":          {`{"blocks":[{"type":"script","props":{"code":"df"}},{"type":"poem","props":{}}]}`, "/blocks/1/type"},
		"no props":                 {`{"blocks":[{"type":"script"}]}`, "/blocks/0"},
		"props that do not fit":    {`{"blocks":[{"type":"script","props":{"code":7}}]}`, "/blocks/0/props/code"},
		"props that are not there": {`{"blocks":[{"type":"script","props":{}}]}`, "code"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.story(t, handsRaw(row.arguments), hands("df"))
			id := s.generate()
			s.rests(id, 1)
			s.are(id, "submitted")
			s.heardOf(2)
			if told := last(s.requests()[1]); told.Role != "tool" || !strings.Contains(told.Content, row.says) {
				t.Errorf("told: %+v, want %q", told, row.says)
			}
			s.accept(id, 1, "12")
			s.over(id, domain.StatusCompleted)
		})
	}
}

// hostileBlocks are taken or given back to the model, and are the same wherever they are read. They never end the execution.
func hostileBlocks(t *testing.T, stage *stage) {
	for name, arguments := range map[string]string{
		"U+0000":             `{"blocks":[{"type":"script","props":{"code":"a\u0000b"}}]}`,
		"half a surrogate":   `{"blocks":[{"type":"script","props":{"code":"a\ud800b"}}]}`,
		"no UTF-8":           "{\"blocks\":[{\"type\":\"script\",\"props\":{\"code\":\"a\xffb\"}}]}",
		"a name twice":       `{"blocks":[{"type":"script","type":"paragraph","props":{"code":"a"}}]}`,
		"a number of no end": `{"blocks":[{"type":"script","props":{"code":"a","n":1e999999,"m":123456789012345678901234567890}}]}`,
		"nested to death":    `{"blocks":[{"type":"paragraph","props":{"x":` + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + `}}]}`,
		"megabytes":          `{"blocks":[{"type":"script","props":{"code":"` + strings.Repeat("x", 3<<20) + `"}}]}`,
		"markup":             `{"blocks":[{"type":"script","props":{"code":"<script>alert(1)</script>\u2028\u202e"}}]}`,
		"too many":           `{"blocks":[` + strings.Repeat(`{"type":"paragraph","props":{}},`, 100) + `{"type":"paragraph","props":{}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.story(t, handsRaw(arguments), hands("df"))
			id := s.generate()
			s.rests(id, 1)
			s.are(id, "submitted")
			generated := of[domain.BlocksGenerated](t, s.log(id))
			var shown struct {
				Versions []struct{ Blocks json.RawMessage }
			}
			_, content := s.do("GET", "/executions/"+id+"/generation", nil)
			must(t, json.Unmarshal(content, &shown))
			if len(generated) != 1 {
				t.Fatalf("generated: %+v", generated)
			}
			if event, generation := exactly(t, generated[0].Blocks), exactly(t, shown.Versions[0].Blocks); event != generation {
				t.Errorf("the event has other blocks than the generation: %.200s and %.200s", event, generation)
			}
			s.edit(id, "again")
			s.rests(id, 2)
			s.accept(id, 2, "12")
			s.over(id, domain.StatusCompleted)
			s.items(id)
		})
	}
}

// exactly is the same for JSON that differs in its escapes alone.
func exactly(t *testing.T, text []byte) string {
	t.Helper()
	var compact, escaped bytes.Buffer
	must(t, json.Compact(&compact, text))
	json.HTMLEscape(&escaped, compact.Bytes())
	return escaped.String()
}

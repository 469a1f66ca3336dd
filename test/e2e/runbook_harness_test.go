package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"

	"signoff/internal/domain"
)

// stage is a server whose model plays many stories side by side. A prompt says which story it is of, and the conversation
// that the model is sent says it for ever after.
type stage struct {
	*server
	model *model

	mu      sync.Mutex
	stories []*story
}

// newStage prepares a server; start starts it.
func newStage(t *testing.T, e engine, env ...string) *stage {
	t.Helper()
	s := &stage{}
	s.model = newModel(t, s.play)
	s.server = newServer(t, e, s.model, append(env, "SIGNOFF_LOG_LEVEL=warn")...)
	return s
}

// story is one test's use of a stage: what the model answers, request by request, and what it was sent. What it has
// started is held against the invariants when the test is over.
type story struct {
	client
	stage  *stage
	number int
	steps  []script

	mu      sync.Mutex
	heard   [][]message
	offered []string // the tools of the newest request
	started []string
}

// story begins one. The model plays one step for each request, and the last one again and again.
func (s *stage) story(t *testing.T, steps ...script) *story {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	told := &story{client: s.client, stage: s, number: len(s.stories), steps: steps}
	told.t = t
	s.stories = append(s.stories, told)
	t.Cleanup(told.end)
	return told
}

var storyMark = regexp.MustCompile(`\(story (\d+)\)`)

// prompt is a text that belongs to the story.
func (s *story) prompt(text string) string { return fmt.Sprintf("%s (story %d)", text, s.number) }

// play finds the newest prompt with a mark: a conversation may begin with that of another story.
func (s *stage) play(a *answer, conversation []message) {
	for _, said := range slices.Backward(conversation) {
		if found := storyMark.FindStringSubmatch(said.Content); said.Role == "user" && found != nil {
			number, _ := strconv.Atoi(found[1])
			s.mu.Lock()
			told := s.stories[number]
			s.mu.Unlock()
			told.step(a, conversation)(a, conversation)
			return
		}
	}
	a.Say("Nobody has told me this story.")
}

func (s *story) step(a *answer, conversation []message) script {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.steps[min(len(s.heard), len(s.steps)-1)]
	s.heard, s.offered = append(s.heard, conversation), a.Tools
	return next
}

// requests are the conversations that the model was sent, one for each request.
func (s *story) requests() [][]message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heard)
}

func (s *story) tools() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.offered))
}

// keep has an execution checked when the story is over.
func (s *story) keep(id string) string {
	s.started = append(s.started, id)
	return id
}

func (s *story) end() {
	for _, id := range s.started {
		if !domain.Status(s.get(id).Status).Terminal() {
			s.do("POST", "/executions/"+id+"/cancel", nil)
			s.ended(id)
		}
		log := s.log(id)
		if len(log) == 0 || !domain.EventType(log[len(log)-1].Type).Terminal() {
			s.t.Errorf("the log of %s does not end with a terminal event", id)
		}
	}
}

// log is the log of an execution, held against the invariants.
func (s *story) log(id string) []wireEvent {
	s.t.Helper()
	checker := &server{t: s.t, client: s.client}
	return checker.sound(id)
}

// again ends the server and starts it again, with all stories going on at the new address.
func (s *stage) again(end func()) {
	s.t.Helper()
	end()
	s.start()
	for _, told := range s.stories {
		told.Base = s.Base
	}
}

// ——— what the model does ———

// script block with a command.
func block(code string) object { return object{"type": "script", "props": object{"code": code}} }

// hands is a step that hands in blocks.
func hands(codes ...string) script {
	blocks := []object{}
	for _, code := range codes {
		blocks = append(blocks, block(code))
	}
	return calls("submit_blocks", object{"blocks": blocks})
}

// handsRaw is a step that hands in whatever it is.
func handsRaw(arguments string) script {
	return func(a *answer, _ []message) { a.WantRaw("submit_blocks", arguments) }
}

// stalls is a step that begins to speak and never ends.
func stalls(a *answer, _ []message) {
	a.Say("half a sen")
	<-a.Gone
	a.Broken = true
}

// breaks is a step whose connection is cut in the middle of the answer.
func breaks(a *answer, _ []message) {
	a.Say("half a sen")
	panic(http.ErrAbortHandler)
}

// refuses is a step that answers with an error; waiting before another attempt is pointless, and it says so.
func refuses(status int, code string) script {
	return func(a *answer, _ []message) {
		a.W.Header().Set("Retry-After-Ms", "1")
		a.Refuse(status, code)
	}
}

// ——— what the client sees ———

// showing is an execution as a client of runbooks sees it.
type showing struct {
	ID               string
	Status           string
	Kind             string
	Turn             int
	LastSeq          int64
	Prompt           string
	SystemPrompt     *string
	Block            *domain.BlockName
	PendingApprovals []approval
	PendingToolCalls []clientCall
	Generation       *generationSummary
	Output           *result
}

// result is the output of an execution.
type result struct {
	Text              string
	Structured        json.RawMessage
	Success           bool
	FinishReason      string
	DurationSeconds   float64
	Error             *domain.Failure
	TokenUsage        domain.Usage
	ToolCallsExecuted []domain.ExecutedToolCall
}

type generationSummary struct {
	Number int
	State  string
}

type generations struct {
	Current          *int
	State            *string
	InsertAfter      *string
	DocumentRevision *string
	Versions         []generation
}

type generation struct {
	Number           int
	State            string
	Turn             int
	ToolCallID       string
	Blocks           []writtenBlock
	DocumentRevision *string
	AcceptedBy       *struct{ Name string }
}

type writtenBlock struct {
	Type  string
	Props struct{ Code string }
}

type clientCall struct {
	ToolCallID string
	Tool       string
	Arguments  json.RawMessage
	Status     string
	Answer     *struct{ Output, Error *string }
}

// createdAs starts an execution and returns it.
func (s *story) createdAs(body object, change ...object) string {
	s.t.Helper()
	for _, more := range change {
		for name, value := range more {
			body[name] = value
		}
	}
	return s.keep(created[showing](s.client, body).ID)
}

// see shows an execution.
func (s *story) see(id string) showing {
	s.t.Helper()
	return want[showing](s.client, http.StatusOK, "GET", "/executions/"+id, nil)
}

// over waits for the end and shows it.
func (s *story) over(id string, status domain.Status) showing {
	s.t.Helper()
	s.ended(id)
	shown := s.see(id)
	if shown.Status != string(status) {
		s.t.Fatalf("ended as %s, not %s: %+v %+v", shown.Status, status, shown.Output, shown.Output.Error)
	}
	return shown
}

// rests waits until so many turns are over and the execution is idle.
func (s *story) rests(id string, turn int) showing {
	s.t.Helper()
	var shown showing
	s.eventually(fmt.Sprintf("the end of turn %d", turn), func() bool {
		shown = s.see(id)
		if domain.Status(shown.Status).Terminal() {
			s.t.Fatalf("it has ended as %s: %+v", shown.Status, shown.Output.Error)
		}
		return shown.Turn == turn && shown.Status == string(domain.StatusIdle)
	})
	return shown
}

// ——— generations ———

// the types that the blocks of the stories can have.
var storyTypes = []object{
	{"type": "script", "description": "Runs a shell script.", "docs": "# Script\nIt runs in the default shell.",
		"propsSchema": object{"type": "object", "required": []string{"code"}, "properties": object{"code": object{"type": "string"}}}},
	{"type": "paragraph", "description": "Text."},
}

// notebook is a document in some revision.
func notebook(revision string) object {
	return object{"revision": revision, "blocks": []object{
		{"id": "b1", "type": "paragraph", "props": object{"text": "Disks of " + revision}}, {"id": "b2", "type": "paragraph"},
	}}
}

// generate asks for blocks.
func (s *story) generate(change ...object) string {
	s.t.Helper()
	return s.createdAs(s.generation(change...))
}

// generation is such a request.
func (s *story) generation(change ...object) object {
	body := object{
		"kind": "inlineBlockGeneration", "source": object{"type": "internal"}, "prompt": s.prompt("Check how full the disks are"),
		"document": notebook("12"), "insertAfter": "b1", "blockTypes": storyTypes, "defaultShell": "fish",
	}
	for _, more := range change {
		for name, value := range more {
			body[name] = value
		}
	}
	return body
}

// edit asks for changes.
func (s *story) edit(id, text string, change ...object) {
	s.t.Helper()
	body := object{"text": text}
	for _, more := range change {
		for name, value := range more {
			body[name] = value
		}
	}
	want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/generation/edits", body)
}

// accept takes a generation for a revision of the document.
func (s *story) accept(id string, number int, revision string) generation {
	s.t.Helper()
	return want[generation](s.client, http.StatusOK, "POST", "/executions/"+id+"/generation/accept",
		object{"generation": number, "documentRevision": revision})
}

func (s *story) cancel(id string) {
	s.t.Helper()
	want[object](s.client, http.StatusOK, "POST", "/executions/"+id+"/cancel", nil, waits)
}

// blocks are the generations of an execution.
func (s *story) blocks(id string) generations {
	s.t.Helper()
	return want[generations](s.client, http.StatusOK, "GET", "/executions/"+id+"/generation", nil)
}

// states are those of all generations, the oldest first.
func (s *story) states(id string) (all []string) {
	s.t.Helper()
	for _, version := range s.blocks(id).Versions {
		all = append(all, version.State)
	}
	return all
}

// are expects the states of the generations.
func (s *story) are(id string, states ...string) {
	s.t.Helper()
	if got := s.states(id); !slices.Equal(got, states) {
		s.t.Errorf("the generations are %q, want %q", got, states)
	}
}

// heardOf expects a number of requests of the model.
func (s *story) heardOf(n int) {
	s.t.Helper()
	if got := len(s.requests()); got != n {
		s.t.Errorf("the model was asked %d times, want %d", got, n)
	}
}

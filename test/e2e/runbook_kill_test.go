package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// killedRunbooks kills the server once under executions in all the places where they can be, and goes on with each.
func killedRunbooks(t *testing.T, stage *stage) {
	submitted := stage.story(t, hands("df"), hands("df -h"))
	taken := stage.story(t, hands("df"))
	dropped := stage.story(t, hands("df"))
	generating := stage.story(t, stalls, hands("df"))
	editing := stage.story(t, hands("df"), stalls, hands("df -h"))
	justEdited := stage.story(t, hands("df"), hands("df -h"))
	waiting := stage.story(t, inserts("df"), finally("It is there."))
	justAnswered := stage.story(t, inserts("df"), finally("It is there."))
	asking := stage.story(t, inserts("df"), finally("It is there."))

	ids := map[*story]string{}
	for _, s := range []*story{submitted, taken, dropped, generating, editing, justEdited} {
		ids[s] = s.generate()
	}
	ids[waiting], ids[justAnswered], ids[asking] = waiting.assist(), justAnswered.assist(), asking.assist(object{"capabilities": object{"write": "ask"}})
	for _, s := range []*story{submitted, taken, dropped, editing, justEdited} {
		s.rests(ids[s], 1)
	}
	editing.edit(ids[editing], "with units")
	editing.reach(ids[editing], domain.StatusStreaming)
	generating.reach(ids[generating], domain.StatusStreaming)
	call, other := waiting.waits(ids[waiting], 1)[0], justAnswered.waits(ids[justAnswered], 1)[0]
	question := asking.pending(ids[asking])
	items := submitted.items(ids[submitted])
	justEdited.edit(ids[justEdited], "with units")
	justAnswered.answers(ids[justAnswered], other, object{"output": "done"})
	stage.again(stage.kill)

	for name, goOn := range map[string]func(t *testing.T){
		"while blocks are submitted, then an edit": func(t *testing.T) {
			s, id := submitted, ids[submitted]
			s.rests(id, 1)
			if again := s.items(id); string(again) != string(items) {
				t.Errorf("items before and after:\n%s\n%s", items, again)
			}
			s.heardOf(1)
			s.edit(id, "with units")
			s.rests(id, 2)
			s.heardOf(2)
			if diff := cmp.Diff([]string{
				"user: Check how full the disks are (story)",
				`assistant submit_blocks {"blocks":[{"props":{"code":"df"},"type":"script"}]}`,
				"tool: The blocks were shown to the person, who asks for changes.",
				"user: with units",
			}, wire(s.requests()[1])); diff != "" {
				t.Errorf("the request of the edit (-want +got):\n%s", diff)
			}
			s.are(id, "superseded", "submitted")
			s.accept(id, 2, "12")
			s.over(id, domain.StatusCompleted)
		},
		"while blocks are submitted, then they are accepted": func(t *testing.T) {
			s, id := taken, ids[taken]
			s.refused(http.StatusConflict, "documentChanged", "POST", "/executions/"+id+"/generation/accept", object{"generation": 1, "documentRevision": "13"})
			s.accept(id, 1, "12")
			s.over(id, domain.StatusCompleted)
			s.are(id, "accepted")
			s.heardOf(1)
		},
		"while blocks are submitted, then they are dropped": func(t *testing.T) {
			s, id := dropped, ids[dropped]
			s.cancel(id)
			s.over(id, domain.StatusCancelled)
			s.are(id, "cancelled")
		},
		"while blocks are generated": func(t *testing.T) {
			s, id := generating, ids[generating]
			s.rests(id, 1)
			s.are(id, "submitted")
			s.accept(id, 1, "12")
			s.over(id, domain.StatusCompleted)
		},
		"while the turn of an edit runs": func(t *testing.T) {
			s, id := editing, ids[editing]
			s.rests(id, 2)
			heard := s.requests()
			if diff := cmp.Diff(wire(heard[1]), wire(heard[2])); len(heard) != 3 || diff != "" {
				t.Errorf("%d requests; before (-) and after (+) the end of the server differ:\n%s", len(heard), diff)
			}
			if system(heard[1]) != system(heard[2]) {
				t.Errorf("the system prompt has changed:\n%s\n———\n%s", system(heard[1]), system(heard[2]))
			}
			s.are(id, "superseded", "submitted")
			s.accept(id, 2, "12")
			s.over(id, domain.StatusCompleted)
		},
		"right behind an edit": func(t *testing.T) {
			s, id := justEdited, ids[justEdited]
			s.rests(id, 2)
			s.are(id, "superseded", "submitted")
			s.accept(id, 2, "12")
			s.over(id, domain.StatusCompleted)
		},
		"while a call waits for its client": func(t *testing.T) {
			s, id := waiting, ids[waiting]
			if again := s.waits(id, 1)[0]; again.ToolCallID != call.ToolCallID || again.Status != "waitingForClient" {
				t.Errorf("before %+v, after %+v", call, again)
			}
			s.answers(id, call, object{"output": "done"})
			s.rests(id, 1)
			s.heardOf(2)
			if told := last(s.requests()[1]); told.Content != "done" {
				t.Errorf("told: %+v", told)
			}
		},
		"right behind the client's answer": func(t *testing.T) {
			s, id := justAnswered, ids[justAnswered]
			s.rests(id, 1)
			if told := last(s.requests()[1]); told.Content != "done" {
				t.Errorf("told: %+v", told)
			}
			if diff := cmp.Diff([]domain.Outcome{domain.OutcomeSucceeded}, s.outcomes(id)); diff != "" {
				t.Error(diff)
			}
		},
		"while a person is asked about a call of the client": func(t *testing.T) {
			s, id := asking, ids[asking]
			s.decide(question)
			s.answers(id, s.waits(id, 1)[0], object{"output": "done"})
			s.rests(id, 1)
		},
	} {
		t.Run(name, goOn)
	}
}

// killsOfGenerations kills the server again and again while editors walk from the first blocks over two edits to the
// acceptance. They know nothing of the kills, and send again what was not answered.
func killsOfGenerations(t *testing.T, stage *stage) {
	s := stage.story(t, func(a *answer, conversation []message) {
		for i := range 20 {
			a.Say(fmt.Sprintf("thought %d ", i))
			time.Sleep(time.Millisecond)
		}
		hands(strconv.Itoa(count(conversation, "user")))(a, conversation)
	})
	var address atomic.Pointer[string]
	address.Store(new(s.Base))
	var editors sync.WaitGroup
	var ids []string
	for range 6 {
		id := s.generate()
		ids = append(ids, id)
		editors.Go(func() {
			for deadline := time.Now().Add(scenario); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
				editor := newClient(t, *address.Load(), s.Token)
				if editor.nextStep(id) {
					return
				}
			}
			t.Errorf("the editor of %s does not come to the end", id)
		})
	}
	for n := range 3 {
		for _, id := range ids { // one that is never left to get any further is given up, rightly
			s.eventually("getting further", func() bool { return len(s.blocks(id).Versions) >= n })
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		stage.again(stage.kill)
		address.Store(new(stage.Base))
	}
	editors.Wait()
	for _, id := range ids {
		s.over(id, domain.StatusCompleted)
		s.are(id, "superseded", "superseded", "accepted")
		for i, version := range s.blocks(id).Versions {
			if len(version.Blocks) != 1 || version.Blocks[0].Props.Code != strconv.Itoa(i+1) || version.Turn != i+1 {
				t.Errorf("version %d: %+v", i+1, version)
			}
		}
		if queued := of[domain.PromptQueued](t, s.log(id)); len(queued) != 2 {
			t.Errorf("%d edits were taken in: %+v", len(queued), queued)
		}
	}
}

// nextStep does what there is to do for an editor, and tells whether that was all. Whatever fails is done again.
func (c client) nextStep(id string) (over bool) {
	var shown showing
	if !c.tries("GET", "/executions/"+id, nil, &shown) {
		return false
	}
	path := "/executions/" + id + "/generation"
	switch {
	case domain.Status(shown.Status).Terminal():
		return true
	case shown.Status != string(domain.StatusIdle) || shown.Generation == nil:
	case shown.Generation.Number < 3:
		c.tries("POST", path+"/edits", object{"text": "another one", "generation": shown.Generation.Number}, nil,
			headers{"Idempotency-Key": strconv.Itoa(shown.Generation.Number)})
	default:
		c.tries("POST", path+"/accept", object{"generation": 3, "documentRevision": "12"}, nil)
	}
	return false
}

// tries sends a request to a server that may be gone, and tells whether it was answered.
func (c client) tries(method, path string, body, into any, extra ...headers) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	response, err := c.try(ctx, method, path, body, extra...)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return err == nil && response.StatusCode < 300 && (into == nil || json.Unmarshal(content, into) == nil)
}

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/test/harness"
)

// entry of a merged stream: an event and the cursor behind it.
type fed struct {
	cursor string
	raw    string
}

// feedPages reads the merged stream page by page up to its end, from behind a cursor on. A page has no cursors of its own
// events, so each page holds one.
func (c client) feedPages(after string) (all []fed) {
	c.t.Helper()
	query := "/events?limit=1"
	if after != "" {
		query += "&after=" + url.QueryEscape(after)
	}
	for {
		page := want[struct {
			Items  []json.RawMessage
			Cursor *string
		}](c, http.StatusOK, "GET", query, nil, headers{"Accept": "application/json"})
		if len(page.Items) == 0 {
			return all
		}
		all = append(all, fed{*page.Cursor, string(page.Items[0])})
		query = "/events?limit=1&after=" + url.QueryEscape(*page.Cursor)
	}
}

// feedStream reads the merged stream as it comes, until take has enough.
func (c client) feedStream(after string, take func(fed) (more bool)) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), scenario)
	defer cancel()
	extra := headers{"Accept": "text/event-stream"}
	if after != "" {
		extra["Last-Event-ID"] = after
	}
	response, err := c.try(ctx, "GET", "/events", nil, extra)
	must(c.t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		c.t.Fatalf("the merged stream: %s", response.Status)
	}
	for frames := harness.NewFrames(response.Body); ; {
		frame, err := frames.Next()
		if err != nil {
			c.t.Fatalf("the merged stream has ended: %v", err)
		}
		if frame.Event != "stream.synced" && !take(fed{frame.ID, frame.Data}) {
			return
		}
	}
}

// feedUntil reads the merged stream until so many executions have ended.
func (c client) feedUntil(after string, ends int) (all []fed) {
	c.t.Helper()
	c.feedStream(after, func(next fed) bool {
		all = append(all, next)
		if strings.Contains(next.raw, `"type":"execution.completed"`) {
			ends--
		}
		return ends > 0
	})
	return all
}

// mergedStream belongs to a tenant of its own: all that the others of this server do is none of its business.
func mergedStream(t *testing.T, stage *stage) {
	talks := func(a *answer, _ []message) {
		for i := range 20 {
			a.Say(fmt.Sprintf("piece %d ", i))
			time.Sleep(time.Millisecond) // both have something to say at the same time
		}
	}
	token := stage.newKey("--name", "feed", "--scopes", "all", "--tenant", "feed")
	stranger := stage.newKey("--name", "stranger", "--scopes", "all", "--tenant", "nobody")
	s := stage.story(t, talks)
	s.client = s.with(token)
	first, second := s.runs(object{}), s.runs(object{})
	live := s.feedUntil("", 2)
	s.feedMatches(live, first, second)
	if paged := s.feedPages(""); !slices.Equal(paged, live) {
		t.Errorf("%d events as pages, %d as a stream", len(paged), len(live))
	}
	for _, at := range []int{0, len(live) / 3, len(live) - 2} {
		if rest := s.feedUntil(live[at].cursor, strings.Count(fmt.Sprint(live[at+1:]), `"type":"execution.completed"`)); !slices.Equal(rest, live[at+1:]) {
			t.Errorf("behind event %d: %d events, want %d", at, len(rest), len(live)-at-1)
		}
	}
	items := s.items(first)

	stage.again(stage.stop)
	if rest := s.feedPages(live[10].cursor); !slices.Equal(rest, live[11:]) {
		t.Errorf("after a restart: %d events behind the eleventh, want %d", len(rest), len(live)-11)
	}
	third := s.runs(object{})
	more := s.feedUntil(live[len(live)-1].cursor, 1)
	s.feedMatches(more, third)
	if again := s.items(first); string(again) != string(items) {
		t.Errorf("items before and after the restart:\n%s\n%s", items, again)
	}

	other := s.with(stranger)
	if foreign := other.feedPages(""); len(foreign) != 0 {
		t.Errorf("another tenant sees %+v", foreign)
	}
	if foreign := other.feedPages(live[3].cursor); len(foreign) != 0 {
		t.Errorf("another tenant sees, with a cursor of ours, %+v", foreign)
	}
	s.refused(http.StatusBadRequest, "malformed", "GET", "/events?after=nonsense", nil, headers{"Accept": "application/json"})
	blind := s.with(stage.newKey("--name", "blind", "--scopes", "executions:read", "--tenant", "feed"))
	blind.refused(http.StatusForbidden, "forbidden", "GET", "/events", nil)
}

// feedMatches expects that a merged stream is the logs of these executions, each in its order, byte for byte but for the name of the execution.
func (s *story) feedMatches(all []fed, ids ...string) {
	s.t.Helper()
	merged := map[string][]string{}
	for _, next := range all {
		var event wireEvent
		must(s.t, json.Unmarshal([]byte(next.raw), &event))
		merged[event.ExecutionID] = append(merged[event.ExecutionID], strings.Replace(next.raw, `"executionId":"`+event.ExecutionID+`",`, "", 1))
	}
	logs := map[string][]string{}
	for _, id := range ids {
		for _, event := range s.log(id) {
			logs[id] = append(logs[id], event.Raw)
		}
	}
	if diff := cmp.Diff(logs, merged); diff != "" {
		s.t.Errorf("the logs (-) and the merged stream (+) differ:\n%s", diff)
	}
}

// items are those of an execution, as they came.
func (s *story) items(id string) []byte {
	s.t.Helper()
	response, content := s.do("GET", "/executions/"+id+"/items", nil)
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("items: %s %s", response.Status, content)
	}
	return content
}

// shownItem is an item as a frontend takes it in.
type shownItem struct {
	ID, Kind, Status string
	FirstSeq         int64
	Message          *struct{ Role, Text string }
	Reasoning        *struct{ Text string }
	Tool             *struct{ ToolCallID, Tool, Status, Output string }
	Diff             *struct{ Path, Status string }
	Blocks           *struct {
		Generation int
		State      string
	}
}

// itemsOfEvents holds items against what the events say, without the code that makes them.
func itemsOfEvents(t *testing.T, stage *stage) {
	s := stage.story(t, func(a *answer, _ []message) {
		a.Think("I should look.")
		a.Say("Let me look.")
		a.Want("get_default_shell", object{})
	}, hands("df"), hands("df -h"))
	id := s.generate()
	s.rests(id, 1)
	s.edit(id, "with units")
	s.rests(id, 2)
	s.accept(id, 2, "12")
	s.over(id, domain.StatusCompleted)
	log := s.log(id)
	var got struct {
		Items   []shownItem
		LastSeq int64
	}
	must(t, json.Unmarshal(s.items(id), &got))
	if got.LastSeq != log[len(log)-1].Seq {
		t.Errorf("items up to %d, events up to %d", got.LastSeq, log[len(log)-1].Seq)
	}
	if diff := cmp.Diff(s.storyOf(id, log), linesOf(got.Items)); diff != "" {
		t.Errorf("what the events say (-) and the items (+) differ:\n%s", diff)
	}
	ids := map[string]bool{}
	for i, item := range got.Items {
		if ids[item.ID] || item.Status != "complete" || i > 0 && item.FirstSeq < got.Items[i-1].FirstSeq {
			t.Errorf("item %d: %+v", i, item)
		}
		ids[item.ID] = true
	}
}

// linesOf are items as lines.
func linesOf(items []shownItem) (told []string) {
	for _, item := range items {
		switch {
		case item.Message != nil:
			told = append(told, item.Message.Role+": "+item.Message.Text)
		case item.Reasoning != nil:
			told = append(told, "thought: "+item.Reasoning.Text)
		case item.Tool != nil:
			told = append(told, item.Tool.Tool+" "+item.Tool.Status+": "+item.Tool.Output)
		case item.Blocks != nil:
			told = append(told, fmt.Sprintf("blocks %d %s", item.Blocks.Generation, item.Blocks.State))
		default:
			told = append(told, "an item of no kind: "+item.Kind)
		}
	}
	return told
}

// storyOf folds a log by hand: each thing has its line where it began, and the line says how it ended.
func (s *story) storyOf(id string, log []wireEvent) (told []string) {
	s.t.Helper()
	texts, fates, states := map[string]string{}, map[string]domain.ToolCallCompleted{}, map[int]string{}
	for _, event := range asDomain(s.t, log) {
		payload, err := event.Payload()
		must(s.t, err)
		switch p := payload.(type) {
		case domain.MessageDelta:
			texts["assistant: "+p.MessageID] += p.Text
		case domain.ThoughtDelta:
			texts["thought: "+p.MessageID] += p.Text
		case domain.ToolCallCompleted:
			fates[p.ToolCallID] = p
		case domain.BlocksGenerated:
			states[p.Generation-1], states[p.Generation] = "superseded", "submitted"
		case domain.BlocksAccepted:
			states[p.Generation] = "accepted"
		}
	}
	seen := map[string]bool{}
	for _, event := range asDomain(s.t, log) {
		payload, _ := event.Payload()
		switch p := payload.(type) {
		case domain.ExecutionCreated:
			told = append(told, "user: "+s.see(id).Prompt)
		case domain.TurnStarted:
			if p.Text != "" {
				told = append(told, "user: "+p.Text)
			}
		case domain.MessageDelta:
			if key := "assistant: " + p.MessageID; !seen[key] {
				seen[key] = true
				told = append(told, "assistant: "+texts[key])
			}
		case domain.ThoughtDelta:
			if key := "thought: " + p.MessageID; !seen[key] {
				seen[key] = true
				told = append(told, "thought: "+texts[key])
			}
		case domain.ToolCallRequested:
			told = append(told, p.Tool+" "+string(fates[p.ToolCallID].Fate)+": "+fates[p.ToolCallID].Output)
		case domain.BlocksGenerated:
			told = append(told, fmt.Sprintf("blocks %d %s", p.Generation, states[p.Generation]))
		}
	}
	return told
}

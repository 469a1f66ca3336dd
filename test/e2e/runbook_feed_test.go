package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// feedNames are what an event of the merged stream has more than that of its log.
var feedNames = regexp.MustCompile(`"executionId":"[0-9a-f-]{36}","agent":\{"type":"internal","name":"[a-z]+"\},`)

// feedMatches expects that a merged stream is the logs of these executions, each in its order, byte for byte but for the names of the execution and its agent.
func (s *story) feedMatches(all []fed, ids ...string) {
	s.t.Helper()
	merged := map[string][]string{}
	for _, next := range all {
		var event wireEvent
		must(s.t, json.Unmarshal([]byte(next.raw), &event))
		merged[event.ExecutionID] = append(merged[event.ExecutionID], feedNames.ReplaceAllLiteralString(next.raw, ""))
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

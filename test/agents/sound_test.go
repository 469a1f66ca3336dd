//go:build agents && linux

package agents

import (
	"encoding/json"
	"strconv"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/events/eventstest"
)

// sound holds an execution that has ended against what must be true of all of them.
func (h *hosted) sound(e *execution) {
	h.Helper()
	page := h.pages("/executions/"+e.id+"/events", "seq")
	log := make([]domain.Event, len(page))
	for i, raw := range page {
		var event wireEvent
		must(h, json.Unmarshal([]byte(raw), &event))
		log[i] = event.Domain()
		if i < len(e.log) && e.log[i].Raw != raw {
			h.Errorf("the stream had %s where the page has %s", e.log[i].Raw, raw)
		}
	}
	if len(page) != len(e.log) {
		h.Errorf("the stream had %d events, the page has %d", len(e.log), len(page))
	}
	for _, broken := range eventstest.BrokenReceived(log) {
		h.Error(broken)
	}
	if len(log) == 0 || !log[len(log)-1].Type.Terminal() || !h.closed(e) {
		h.Error("the log does not end with a terminal event")
	}
	h.toldOnce(e)
	h.hushed(e, page)
}

// pages reads a list to its end, by the number that its items carry.
func (h *hosted) pages(path, number string) (all []string) {
	h.Helper()
	for after := "0"; ; {
		page := request[struct{ Items []json.RawMessage }](h.server, "GET", path+"?limit=200&after="+after, nil)
		if len(page.Items) == 0 {
			return all
		}
		for _, item := range page.Items {
			all = append(all, string(item))
		}
		var last map[string]any
		must(h, json.Unmarshal([]byte(all[len(all)-1]), &last))
		after = strconv.Itoa(int(last[number].(float64)))
	}
}

// toldOnce: an answer is in the log as often as somebody has asked for it. What an agent tells again when its session is
// taken up must not look like something new.
func (h *hosted) toldOnce(e *execution) {
	h.Helper()
	said, asked := "", 0
	for n := range len(e.prompts) {
		said += e.numbered(n + 1).text
		if e.prompts[n] == plainPrompt {
			asked++
		}
	}
	said += e.numbered(0).text
	if told := strings.Count(said, plainAnswer); told != asked {
		h.Errorf("%q was asked %d times and told %d times: %s", plainPrompt, asked, told, said)
	}
}

// hushed looks for the key in all that can be seen of an execution.
func (h *hosted) hushed(e *execution, log []string) {
	h.Helper()
	debug := h.pages("/executions/"+e.id+"/debug", "n")
	if len(debug) == 0 {
		h.Error("the debug feed is empty")
	}
	shown := request[json.RawMessage](h.server, "GET", "/executions/"+e.id, nil)
	for place, texts := range map[string][]string{
		"the log": log, "the debug feed": debug, "the execution": {string(shown)}, "the server's log": {h.server.printed.String()},
	} {
		for _, text := range texts {
			if strings.Contains(text, key) {
				h.Errorf("the key is in %s: %s", place, text)
			}
		}
	}
}

package http

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

func TestTheConversationIsMadeOfTheLog(t *testing.T) {
	h := newHouse(t)
	id := h.create("ask df <b>")
	approval, hash := h.pending(id)
	h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`).want(200)
	last := h.ended(id).get("lastSeq")
	a := h.ask("GET", "/executions/"+id+"/items", "").want(200)
	if a.get("lastSeq") != last {
		t.Errorf("made of %v events of %v", a.get("lastSeq"), last)
	}
	var page struct {
		Items []struct {
			ID, Kind             string
			CreatedAt, UpdatedAt string
			Message              struct{ Role, Text string }
			Tool                 struct{ Tool, Status, StartedAt string }
		}
	}
	must(t, json.Unmarshal(a.body, &page))
	var told []string
	sixDigits := regexp.MustCompile(`^20..-..-..T..:..:..\.[0-9]{6}Z$`)
	for _, item := range page.Items {
		told = append(told, item.Kind+" "+item.Message.Role+item.Message.Text+item.Tool.Tool+item.Tool.Status)
		if !sixDigits.MatchString(item.CreatedAt) || !sixDigits.MatchString(item.UpdatedAt) || item.Kind == "tool" && !sixDigits.MatchString(item.Tool.StartedAt) {
			t.Errorf("times of %s: %+v", item.ID, item)
		}
	}
	if got := strings.Join(told, "; "); got != "message userask df <b>; reasoning ; tool bashsucceeded; message assistantdone: df <b>" {
		t.Errorf("%s", got)
	}
}

// TestALongLogIsReadInPieces has more events than one reading gives.
func TestALongLogIsReadInPieces(t *testing.T) {
	h := newHouse(t)
	id := h.create("many 600")
	last := h.ended(id).get("lastSeq").(float64)
	if last <= logPageEvents {
		t.Fatalf("only %v events", last)
	}
	a := h.ask("GET", "/executions/"+id+"/items", "").want(200)
	if a.get("lastSeq") != last || a.count("items") != 602 {
		t.Errorf("%d items up to %v of %v", a.count("items"), a.get("lastSeq"), last)
	}
}

func TestTheConversationOfSomebodyElse(t *testing.T) {
	h := newHouse(t)
	h.ask("GET", "/executions/"+someID+"/items", "").want(404)
	h.ask("GET", "/executions/"+someID+"/generation", "").want(404)
}

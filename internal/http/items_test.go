package http

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"signoff/internal/domain"
	"signoff/internal/events/items"
)

func TestTheConversationIsMadeOfTheLog(t *testing.T) {
	h := newTestServer(t)
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

// TestItemsFitTheDocument holds the fields of an item against the document, and the items of the stories that the console is tested with.
func TestItemsFitTheDocument(t *testing.T) {
	schema := tight().Components.Schemas["Item"].Value
	checkDocumented(t, "Item", reflect.TypeFor[items.Item](), schema)
	stories, err := filepath.Glob("../../test/console/unit/items/*.json")
	if must(t, err); len(stories) < 5 {
		t.Fatalf("%d stories", len(stories))
	}
	for _, story := range stories {
		text, err := os.ReadFile(story)
		must(t, err)
		var told struct{ Items []json.RawMessage }
		must(t, json.Unmarshal(text, &told))
		for _, item := range told.Items {
			if err := schema.VisitJSON(plain(t, item), openapi3.VisitAsResponse()); err != nil {
				t.Errorf("%s: %v\n%s", story, err, item)
			}
		}
	}
}

// TestALongLogIsReadInPieces has more events than one reading gives.
func TestALongLogIsReadInPieces(t *testing.T) {
	h := newTestServer(t)
	id := h.create("many 600")
	last := h.ended(id).get("lastSeq").(float64)
	if last <= exportEvents {
		t.Fatalf("only %v events", last)
	}
	path := "/executions/" + id + "/items"
	first := h.ask("GET", path+"?limit=500", "").want(200)
	if first.get("lastSeq") != last || first.count("items") != 500 || first.text("nextCursor") != "500" {
		t.Errorf("%d items up to %v of %v, then %v", first.count("items"), first.get("lastSeq"), last, first.get("nextCursor"))
	}
	rest := h.ask("GET", path+"?limit=500&after=500", "").want(200)
	if rest.get("lastSeq") != last || rest.count("items") != 102 || rest.get("nextCursor") != nil || rest.text("items", "101", "message", "text") != "done: 600" {
		t.Errorf("%d items, then %v", rest.count("items"), rest.get("nextCursor"))
	}
}

func TestTheConversationComesInPages(t *testing.T) {
	h := newTestServer(t)
	id := h.create("many 110")
	h.ended(id)
	path := "/executions/" + id + "/items"
	var told []any
	for next := any("0"); next != nil; {
		a := h.ask("GET", path+"?limit=50&after="+next.(string), "").want(200)
		for _, item := range a.get("items").([]any) {
			told = append(told, item.(map[string]any)["id"])
		}
		next = a.get("nextCursor")
	}
	all := h.ask("GET", path+"?limit=500", "").want(200)
	if all.count("items") != 112 || len(told) != 112 || all.get("nextCursor") != nil {
		t.Fatalf("%d items at once, %d in pages", all.count("items"), len(told))
	}
	for i, item := range all.get("items").([]any) {
		if item.(map[string]any)["id"] != told[i] {
			t.Errorf("item %d of the pages is %v", i, told[i])
		}
	}
	if a := h.ask("GET", path, "").want(200); a.count("items") != 100 || a.text("nextCursor") != "100" {
		t.Errorf("%d items, then %v", a.count("items"), a.get("nextCursor"))
	}
	if a := h.ask("GET", path+"?after=112", "").want(200); a.count("items") != 0 || a.get("nextCursor") != nil {
		t.Errorf("%s", a.body)
	}
	if a := h.ask("GET", path+"?after=999999999999999999", "").want(200); a.count("items") != 0 || a.get("nextCursor") != nil {
		t.Errorf("%s", a.body)
	}
	h.ask("GET", path+"?after=tool:c1", "").problem(400, domain.CodeMalformed)
	h.ask("GET", path+"?limit=501", "").problem(422, domain.CodeInvalid)
}

// TestAPageOfAConversationIsBounded: forty outputs of a megabyte were one answer of forty megabytes.
func TestAPageOfAConversationIsBounded(t *testing.T) {
	large := items.Item{Kind: items.KindMessage, Message: &items.Message{Text: strings.Repeat("a", 1<<20)}}
	huge := items.Item{Kind: items.KindMessage, Message: &items.Message{Text: strings.Repeat("a", maxItemPage)}}
	for name, row := range map[string]struct {
		all   []items.Item
		count int
	}{
		"as many as there is room for": {slices.Repeat([]items.Item{large}, 40), 3},
		"at least one":                 {[]items.Item{huge, large}, 1},
		"none":                         {nil, 0},
	} {
		var page itemPage
		if page.fill(row.all); page.count != row.count {
			t.Errorf("%s: %d items", name, page.count)
		}
	}
}

func TestTheConversationOfSomebodyElse(t *testing.T) {
	h := newTestServer(t)
	h.ask("GET", "/executions/"+someID+"/items", "").want(404)
	h.ask("GET", "/executions/"+someID+"/generation", "").want(404)
}

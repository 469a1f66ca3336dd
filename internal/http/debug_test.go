package http

import (
	"fmt"
	"testing"
)

func TestTheDebugFeedIsReadPageByPage(t *testing.T) {
	h := newTestServer(t)
	id := h.ask("POST", "/executions", `{"source":{"type":"acp","command":"mock"},"prompt":"trace","debug":true}`).want(201).text("id")
	h.ended(id)
	feed := "/executions/" + id + "/debug"
	eventually(t, "all is stored", func() bool { return h.ask("GET", feed, "").want(200).count("items") == 10 })
	all := h.ask("GET", feed, "").want(200)
	if all.get("nextCursor") != nil || all.text("items", "0", "direction") != "toAgent" || all.text("items", "1", "direction") != "fromAgent" ||
		all.text("items", "0", "message") != `{"id":0,"method":"<ping>"}` || all.get("items", "0", "bytes") != 26.0 {
		t.Errorf("%s", all.body)
	}
	var numbers []float64
	for path := feed + "?limit=4"; ; {
		page := h.ask("GET", path, "").want(200)
		for i := range page.count("items") {
			numbers = append(numbers, page.get("items", fmt.Sprint(i), "n").(float64))
		}
		if page.get("nextCursor") == nil {
			break
		}
		path = feed + "?limit=4&after=" + page.text("nextCursor")
	}
	if fmt.Sprint(numbers) != "[1 2 3 4 5 6 7 8 9 10]" {
		t.Errorf("%v", numbers)
	}
	if a := h.ask("GET", feed+"?limit=10", "").want(200); a.get("nextCursor") != nil {
		t.Errorf("a page that ends with the feed leads on: %s", a.body)
	}
	if a := h.ask("GET", feed+"?after=999999999999999999", "").want(200); a.count("items") != 0 || a.get("nextCursor") != nil {
		t.Errorf("%s", a.body)
	}
}

func TestWithoutDebugTheFeedIsEmpty(t *testing.T) {
	h := newTestServer(t)
	id := h.create("trace")
	h.ended(id)
	if a := h.ask("GET", "/executions/"+id+"/debug", "").want(200); a.count("items") != 0 || a.get("nextCursor") != nil {
		t.Errorf("%s", a.body)
	}
}

package http

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// createDelegating creates an execution that may delegate, without asking anybody.
func (h *testServer) createDelegating(prompt string) string {
	h.Helper()
	return h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"`+prompt+`","delegation":{},
		"capabilities":{"delegate":"allow"}}`).want(201).text("id")
}

// askedBelow waits for the one approval of the inbox.
func (h *testServer) askedBelow() answer {
	h.Helper()
	for {
		if inbox := h.ask("GET", "/approvals?status=pending", "").want(200); strings.Contains(string(inbox.body), `"id"`) {
			return h.ask("GET", "/approvals/"+inbox.text("items", "0", "id"), "").want(200)
		}
	}
}

func TestATreeIsShown(t *testing.T) {
	h := newTestServer(t)
	root := h.createDelegating("delegate use hello")
	if text := h.ended(root).text("output", "text"); !strings.Contains(text, "hello") {
		t.Errorf("%q", text)
	}
	tree := h.ask("GET", "/executions/"+root+"/tree", "").want(200)
	if tree.text("items", "0", "id") != root || tree.get("items", "0", "parent") != nil {
		t.Errorf("%s", tree.body)
	}
	if sum := tree.get("usage", "totalTokens"); sum != 7.0 || tree.get("usage", "contextUsed") != nil || tree.get("items", "0", "usage", "totalTokens") != nil {
		t.Errorf("the tree has used %v", sum)
	}
	child := tree.text("items", "1", "id")
	shown := h.ask("GET", "/executions/"+child, "").want(200)
	if shown.text("parent", "executionId") != root || shown.text("parent", "toolCallId") != "d1" || shown.text("parent", "root") != root ||
		shown.text("parent", "path", "0", "asked") != "delegate use hello" || shown.text("parent", "path", "1", "asked") != "use hello" {
		t.Errorf("%s", shown.body)
	}
	listed := func(query string) string {
		return h.ask("GET", "/executions"+query, "").want(200).text("items", "0", "id")
	}
	if listed("") != root || listed("?parent="+root) != child || listed("?root="+root) != child {
		t.Error("lists show roots, and children where they are asked for")
	}
	h.ask("GET", "/executions/"+child+"/tree", "").problem(409, domain.CodeConflict)
	h.ask("GET", "/executions/"+root+"/tree", "", "Authorization", "Bearer "+h.key("other", "executions:read")).problem(404, domain.CodeNotFound)
	h.ask("DELETE", "/executions/"+child, "").problem(409, domain.CodeConflict)
	h.ask("DELETE", "/executions/"+root, "", "Prefer", "wait=30").want(204)
	h.ask("GET", "/executions/"+child, "").problem(404, domain.CodeNotFound)
}

// What closing would cancel is at work below: an execution that is idle, or that has ended, is not, and neither is another tree.
func TestACloseIsShownBefore(t *testing.T) {
	h := newTestServer(t)
	root := h.createDelegating("delegate ask df")
	approval := h.askedBelow()
	child := approval.text("executionId")
	other := h.createDelegating("delegate only hello")
	h.ended(other)
	idle := h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"delegate only hello","delegation":{},"keepOpen":true,
		"capabilities":{"delegate":"allow"}}`).want(201).text("id")
	h.idle(idle, 1)
	cancels := func(id string) (all []string) {
		for _, one := range h.ask("GET", "/executions/"+id+"/close", "").want(200).get("cancels").([]any) {
			all = append(all, one.(map[string]any)["id"].(string))
		}
		return all
	}
	if diff := cmp.Diff([]string{child}, cancels(root)); diff != "" {
		t.Error(diff)
	}
	if below := slices.Concat(cancels(child), cancels(other), cancels(idle)); len(below) > 0 {
		t.Errorf("also %v", below)
	}
	h.ask("POST", "/executions/"+root+"/cancel", `{}`)
	h.ended(root)
	h.ended(child)
	if over := cancels(root); len(over) > 0 {
		t.Errorf("ended are %v", over)
	}
	h.ask("GET", "/executions/"+root+"/close", "", "Authorization", "Bearer "+h.key("other", "executions:read")).problem(404, domain.CodeNotFound)
}

// The export and the audit of a root have what all executions of its tree have, and say of each line which one it belongs to.
func TestATreeIsExportedAndAudited(t *testing.T) {
	h := newTestServer(t)
	root := h.createDelegating("delegate ask df")
	approval := h.askedBelow()
	child := approval.text("executionId")
	h.ask("POST", "/approvals/"+approval.text("id"), `{"decision":"approve"}`).want(200)
	h.ended(root)
	h.ended(child)
	other := h.create("say x")
	h.ended(other)

	whole := h.export(root)
	alone := h.export(child)
	var heads []any
	var first int // line of the child
	for i, line := range whole.lines {
		if line["type"] == "execution" {
			heads, first = append(heads, line["execution"].(map[string]any)["id"]), i
		}
	}
	if fmt.Sprint(heads) != fmt.Sprint([]string{root, child}) {
		t.Fatalf("exported are %v", heads)
	}
	below := whole.lines[first : len(whole.lines)-1]
	for _, line := range [][]map[string]any{below, alone.lines} {
		delete(line[0], "exportedAt")
	}
	if diff := cmp.Diff(alone.lines[:len(alone.lines)-1], below); diff != "" || alone.counts["approval"] != 1 {
		t.Error(diff)
	}

	var audited []string
	for _, entry := range h.ask("GET", "/audit?root="+root, "").want(200).get("items").([]any) {
		entry := entry.(map[string]any)
		record := entry["record"].(map[string]any)
		switch id := entry["executionId"]; {
		case id == root && record["rootId"] == nil, id == child && record["rootId"] == root:
			audited = append(audited, fmt.Sprintf("%v %v", id == child, record["action"]))
		default:
			t.Errorf("%v", entry)
		}
	}
	if len(audited) != whole.counts["auditEntry"] || !slices.Contains(audited, "true approval.decided") || !slices.Contains(audited, "false execution.created") {
		t.Errorf("audited are %v, and exported %v", audited, whole.counts)
	}
	h.ask("DELETE", "/executions/"+root, "", "Prefer", "wait=30").want(204)
	left := h.ask("GET", "/audit?root="+root, "").want(200).get("items").([]any)
	if len(left) <= len(audited) {
		t.Errorf("of %d entries %d are left", len(audited), len(left))
	}
}

func TestADenialStopsTheTree(t *testing.T) {
	h := newTestServer(t)
	root := h.createDelegating("delegate ask df")
	approval := h.askedBelow()
	path, child := "/approvals/"+approval.text("id"), approval.text("executionId")
	if approval.text("root") != root || approval.text("path", "0", "asked") != "delegate ask df" || approval.text("path", "1", "executionId") != child {
		t.Errorf("%s", approval.body)
	}
	page := string(h.opened(h.link(approval.text("id"), `{"for":"ann"}`), show).want(200).body)
	if _, after, _ := strings.Cut(page, "Who was asked for what"); !strings.Contains(after, ": delegate ask df\n") || !strings.Contains(after, ": ask df") {
		t.Errorf("%s", page)
	}
	stop := `{"decision":"deny","stopTree":"` + root + `"}`
	h.ask("POST", path, stop, "Authorization", "Bearer "+h.key("", "approvals:decide")).problem(403, domain.CodeForbidden)
	h.ask("POST", path, `{"decision":"deny","stopTree":"`+child+`"}`).problem(422, domain.CodeInvalid)
	h.ask("POST", path, `{"decision":"approve","argumentsHash":"`+approval.text("argumentsHash")+`","stopTree":"`+root+`"}`).problem(422, domain.CodeInvalid)
	if status := h.ask("POST", path, stop).want(200).text("status"); status != "denied" {
		t.Errorf("the approval is %s", status)
	}
	for _, id := range []string{root, child} {
		if status := h.ended(id).text("status"); status != "cancelled" {
			t.Errorf("%s is %s", id, status)
		}
	}
}

// TestARepeatedDenialStopsTheTree: one person has denied the call, and another one presses the button that stops the tree as well.
func TestARepeatedDenialStopsTheTree(t *testing.T) {
	h := newTestServer(t)
	root := h.createDelegating("delegate askAndHang df")
	approval := h.askedBelow()
	path, child := "/approvals/"+approval.text("id"), approval.text("executionId")
	h.ask("POST", path, `{"decision":"deny"}`).want(200)
	h.ask("POST", path, `{"decision":"deny","stopTree":"`+child+`"}`).problem(422, domain.CodeInvalid)
	h.ask("POST", path, `{"decision":"deny","stopTree":""}`).problem(422, domain.CodeInvalid)
	h.ask("POST", path, `{"decision":"deny","stopTree":"`+root+`"}`).want(200)
	for _, id := range []string{root, child} {
		if status := h.ended(id).text("status"); status != "cancelled" {
			t.Errorf("%s is %s", id, status)
		}
	}
	h.ask("POST", path, `{"decision":"deny","stopTree":"`+root+`"}`).want(200)
	stops := 0
	for _, entry := range h.ask("GET", "/audit?action=execution.cancelled", "").want(200).get("items").([]any) {
		if entry.(map[string]any)["executionId"] == root {
			stops++
		}
	}
	if stops != 1 {
		t.Errorf("the audit has %d cancellations of the root", stops)
	}
}

func TestARuleOfATreeNamesItsRoot(t *testing.T) {
	h := newTestServer(t)
	root := h.createDelegating("delegate ask df")
	child := h.askedBelow().text("executionId")
	rule := func(id string) string {
		return `{"scope":"tree","executionId":"` + id + `","effect":"allow","matcher":{"tool":"bash"}}`
	}
	if p := h.ask("POST", "/permission-rules", rule(child)).problem(422, domain.CodeInvalid); !strings.Contains(string(p.body), root) {
		t.Errorf("%s", p.body)
	}
	h.ask("POST", "/permission-rules", `{"scope":"tree","effect":"allow","matcher":{"tool":"bash"}}`).problem(422, domain.CodeInvalid)
	if made := h.ask("POST", "/permission-rules", rule(root)).want(201); made.text("scope") != "tree" || made.text("executionId") != root {
		t.Errorf("%s", made.body)
	}
	for _, id := range []string{root, child} { // the rule has answered the question of the child
		if status := h.ended(id).text("status"); status != "completed" {
			t.Errorf("%s is %s", id, status)
		}
	}
	if listed := h.ask("GET", "/permission-rules?scope=tree", "").want(200); listed.get("items", "0", "hits") != 1.0 {
		t.Errorf("%s", listed.body)
	}
}

func TestADenialStopsARoot(t *testing.T) {
	h := newTestServer(t)
	root := h.create("ask df")
	approval, _ := h.pending(root)
	h.ask("POST", "/approvals/"+approval, `{"decision":"deny","stopTree":"`+root+`"}`).want(200)
	if status := h.ended(root).text("status"); status != "cancelled" {
		t.Errorf("it is %s", status)
	}
}

// treeFrames reads the stream of a tree until the server closes it, or until the reader has as many frames as it wants; 0: all.
func (h *testServer) treeFrames(root, after string, want int) (frames []frame) {
	h.Helper()
	l := h.followURL("/executions/"+root+"/events?tree=true", "Last-Event-ID", after)
	defer l.close()
	for want == 0 || len(frames) < want {
		frame, err := l.parser.next()
		if errors.Is(err, io.EOF) {
			return frames
		}
		must(h, err)
		if frame.id != "" {
			checkSchema(h, "FeedEvent", []byte(frame.data))
			frames = append(frames, frame)
		}
	}
	return frames
}

func TestATreeIsFollowed(t *testing.T) {
	h := newTestServer(t)
	root := h.createDelegating("delegate ask df")
	approval := h.askedBelow()
	child := approval.text("executionId")
	other := h.create("say x") // which belongs to another tree
	h.ended(other)
	live := h.followURL("/executions/" + root + "/events?tree=true")
	defer live.close()
	h.ask("POST", "/approvals/"+approval.text("id"), `{"decision":"approve"}`).want(200)
	h.ended(root)
	h.ended(child)

	all := h.treeFrames(root, "0", 0)
	seqs := map[string]int64{}
	for _, frame := range all {
		var event happening
		must(t, json.Unmarshal([]byte(frame.data), &event))
		if seqs[event.ExecutionID]++; event.Seq != seqs[event.ExecutionID] {
			t.Errorf("%s where %d is due", frame.data, seqs[event.ExecutionID])
		}
	}
	if len(seqs) != 2 || seqs[root] != int64(len(h.all(root))) || seqs[child] != int64(len(h.all(child))) {
		t.Errorf("%v", seqs)
	}
	for i, want := range all {
		got := frame{}
		for got.id == "" { // stream.synced, and heartbeats
			var err error
			got, err = live.parser.next()
			must(t, err)
		}
		if got.raw != want.raw {
			t.Fatalf("live event %d is %s, not %s", i, got.raw, want.raw)
		}
	}
	var pieces []frame
	for last := "0"; len(pieces) < len(all); last = pieces[len(pieces)-1].id {
		pieces = append(pieces, h.treeFrames(root, last, 1+len(pieces)%5)...)
	}
	for i := range all {
		if pieces[i].raw != all[i].raw {
			t.Fatalf("event %d in pieces is %s, not %s", i, pieces[i].raw, all[i].raw)
		}
	}

	path, last := "/executions/"+root+"/events?tree=true", all[len(all)-1].id
	h.ask("GET", path+"&after="+last, "").want(204)
	if page := h.ask("GET", path+"&limit=1000", "", "Accept", typeJSON).want(200); page.count("items") != len(all) || page.text("cursor") != last {
		t.Errorf("a page has %d of %d events", page.count("items"), len(all))
	}
	h.ask("GET", "/executions/"+child+"/events?tree=true", "").problem(409, domain.CodeConflict)
	h.ask("GET", path, "", "Authorization", "Bearer "+h.key("other", "events:read")).problem(404, domain.CodeNotFound)
	h.ask("GET", path, "", "Authorization", "Bearer "+h.key("", "executions:read")).problem(403, domain.CodeForbidden)
	h.ask("GET", path+"&after=7", "").problem(400, domain.CodeMalformed)
	h.ask("GET", "/executions/"+root+"/events?after="+last, "").problem(400, domain.CodeMalformed)
	h.ask("GET", path+"&limit=5", "").problem(422, domain.CodeInvalid)
}

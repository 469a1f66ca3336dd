package http

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// note replaces notes of which somebody has seen a revision.
func (h *testServer) note(scope string, seen int, content string) answer {
	h.Helper()
	body, err := json.Marshal(map[string]string{"content": content})
	must(h, err)
	return h.ask("PUT", "/memory/"+scope, string(body), "If-Match", fmt.Sprintf(`"%d"`, seen))
}

func TestNotesAreReadAndReplaced(t *testing.T) {
	h := newTestServer(t)
	for _, scope := range []string{"global", "runbook:disks", "runbook:a.B_c-9"} {
		empty := h.ask("GET", "/memory/"+scope, "").want(200)
		if empty.text("content") != "" || empty.get("revision") != 0.0 || empty.header.Get("ETag") != `"0"` ||
			empty.get("updatedAt") != nil || empty.get("updatedBy") != nil || empty.text("scope") != scope {
			t.Errorf("%v %s", empty.header, empty.body)
		}
		written := h.note(scope, 0, "# Disks\n\nOf "+scope+".").want(200)
		if written.header.Get("ETag") != `"1"` || written.get("revision") != 1.0 || written.text("updatedBy", "name") != "ann" {
			t.Errorf("%v %s", written.header, written.body)
		}
		if read := h.ask("GET", "/memory/"+scope, "").want(200); string(read.body) != string(written.body) || read.header.Get("ETag") != `"1"` {
			t.Errorf("written %s\nread %s", written.body, read.body)
		}
		if emptied := h.note(scope, 1, "").want(200); emptied.header.Get("ETag") != `"2"` || emptied.text("content") != "" {
			t.Errorf("%v %s", emptied.header, emptied.body)
		}
	}
	if a := h.ask("GET", "/audit?action=memory.saved", "").want(200); a.count("items") != 6 || a.text("items", "0", "record", "subject") != "global" ||
		a.text("items", "0", "record", "actor", "name") != "ann" || strings.Contains(string(a.body), "Disks") {
		t.Errorf("%s", a.body)
	}
}

// TestNotesAreNotOverwrittenUnseen: of two who have read the same, the second hears of the first.
func TestNotesAreNotOverwrittenUnseen(t *testing.T) {
	h := newTestServer(t)
	h.note("global", 0, "first").want(200)
	for header, row := range map[string]badInput{
		"":                       {"", "", 428, domain.CodeRevisionRequired, ""},
		`"0"`:                    {"", "", 409, domain.CodeConflict, ""},
		`"2"`:                    {"", "", 409, domain.CodeConflict, ""},
		`"999999999999999999"`:   {"", "", 409, domain.CodeConflict, ""},
		`1`:                      {"", "", 422, domain.CodeInvalid, "If-Match"},
		`*`:                      {"", "", 422, domain.CodeInvalid, "If-Match"},
		`W/"1"`:                  {"", "", 422, domain.CodeInvalid, "If-Match"},
		`"1", "2"`:               {"", "", 422, domain.CodeInvalid, "If-Match"},
		`"-1"`:                   {"", "", 422, domain.CodeInvalid, "If-Match"},
		`"9999999999999999999"`:  {"", "", 422, domain.CodeInvalid, "If-Match"},
		`"` + canary + `"`:       {"", "", 422, domain.CodeInvalid, "If-Match"},
		strings.Repeat("1", 101): {"", "", 422, domain.CodeInvalid, "If-Match"},
		`"' or 1=1 --"`:          {"", "", 422, domain.CodeInvalid, "If-Match"},
	} {
		row.name = header
		h.wrong(row, h.ask("PUT", "/memory/global", `{"content":"second"}`, "If-Match", header))
	}
	if a := h.ask("GET", "/memory/global", "").want(200); a.text("content") != "first" || a.header.Get("ETag") != `"1"` {
		t.Errorf("%s", a.body)
	}
}

func TestNotesOfOtherScopesAndTenants(t *testing.T) {
	h := newTestServer(t)
	h.note("runbook:disks", 0, "ours").want(200)
	stranger := h.key("acme", everyScope()...)
	for _, scope := range []string{"global", "runbook:disks"} {
		if a := h.ask("GET", "/memory/"+scope, "", "Authorization", "Bearer "+stranger).want(200); a.get("revision") != 0.0 {
			t.Errorf("%s: %s", scope, a.body)
		}
	}
	if a := h.ask("GET", "/memory/global", "").want(200); a.get("revision") != 0.0 {
		t.Errorf("%s", a.body)
	}
	for _, scope := range []string{
		"local", "Global", "runbook:", "runbook:a%2Fb", "runbook:a%20b", "runbook:%00", "runbook:%FF", "runbook:%252e%2500", "runbook:é",
		"runbook:" + strings.Repeat("a", 201), "global%0A", "..%2Fglobal",
	} {
		h.ask("GET", "/memory/"+scope, "").problem(404, domain.CodeNotFound)
		h.note(scope, 0, "x").problem(404, domain.CodeNotFound)
	}
	h.note("runbook:"+strings.Repeat("a", 200), 0, "x").want(200)
}

func TestNotesAsAFile(t *testing.T) {
	h := newTestServer(t)
	const content = "# Disks\n\n- `/var` grows <b>fast</b> — é\n"
	h.note("global", 0, content).want(200)
	file := h.ask("GET", "/memory/global", "", "Accept", "text/markdown").want(200)
	if string(file.body) != content || file.header.Get("Content-Type") != "text/markdown; charset=utf-8" ||
		file.header.Get("Content-Disposition") != `attachment; filename="MEMORY.md"` || file.header.Get("ETag") != `"1"` {
		t.Errorf("%v %s", file.header, file.body)
	}
	for accept, want := range map[string]string{
		"":                                typeJSON,
		"*/*":                             typeJSON,
		"application/json":                typeJSON,
		"application/*":                   typeJSON,
		"text/*":                          typeMarkdown,
		"text/html, text/markdown;q=0.1":  typeMarkdown,
		"application/json;q=0.5, */*":     typeMarkdown,
		"text/markdown, application/json": typeJSON,
		"text/html":                       "",
		"text/event-stream":               "",
		"text/markdown;q=0":               "",
	} {
		a := h.ask("GET", "/memory/global", "", "Accept", accept)
		if want == "" {
			a.problem(406, domain.CodeNotAcceptable)
			continue
		}
		if got, _, _ := strings.Cut(a.want(200).header.Get("Content-Type"), ";"); got != want {
			t.Errorf("%q: %s", accept, got)
		}
	}
}

func TestBadNotes(t *testing.T) {
	h := newTestServer(t)
	for _, row := range []badInput{
		{"too many bytes", `{"content":"` + strings.Repeat("é", domain.MaxMemoryBytes/2+1) + `"}`, 422, domain.CodeInvalid, "/content"},
	} {
		h.wrong(row, h.ask("PUT", "/memory/global", row.body, "If-Match", `"0"`))
	}
	h.ask("PUT", "/memory/global", "", "If-Match", `"0"`).problem(400, domain.CodeMalformed)
	h.ask("PUT", "/memory/global", "# Disks", "If-Match", `"0"`, "Content-Type", "text/markdown").problem(415, domain.CodeUnsupportedMedia)
	if allow := h.ask("DELETE", "/memory/global", "").problem(405, domain.CodeMethodNotAllowed).header.Get("Allow"); allow != "GET, HEAD, PUT" {
		t.Errorf("Allow: %s", allow)
	}
	h.note("global", 0, strings.Repeat("é", domain.MaxMemoryBytes/2)).want(200)
}

func TestSecretsAreNotNoted(t *testing.T) {
	h := newTestServer(t)
	a := h.note("global", 0, "The token is "+canary+".").want(200)
	if a.text("content") != "The token is [masked]." {
		t.Errorf("%s", a.body)
	}
	if file := h.ask("GET", "/memory/global", "", "Accept", "text/markdown").want(200); strings.Contains(string(file.body), canary) {
		t.Errorf("%s", file.body)
	}
}

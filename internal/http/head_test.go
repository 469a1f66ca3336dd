package http

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeadIsGetWithoutABody(t *testing.T) {
	h := newTestServer(t)
	live, ended := h.open("stay"), h.create("say hello")
	h.ended(ended)
	for _, path := range []string{
		"/", "/healthz", "/readyz", "/openapi.yaml", h.file("main.js"), "/executions", "/executions/" + ended, "/executions/" + someID,
		"/executions/" + ended + "/export", "/executions/" + ended + "/items", "/executions?limit=none", "/nowhere", "/executions/" + ended + "/cancel",
		"/executions/" + live + "/events", "/events",
	} {
		head := h.head("HEAD", path)
		if n := h.streams(); n != 0 {
			t.Errorf("%s: %d streams are open when HEAD is answered", path, n)
		}
		got := h.head("GET", path)
		eventually(t, "the stream is closed", func() bool { return h.streams() == 0 })
		if got.StatusCode != head.StatusCode {
			t.Errorf("%s: %s, and for HEAD %s", path, got.Status, head.Status)
		}
		for _, own := range []string{"X-Request-Id", "Date"} {
			got.Header.Del(own)
			head.Header.Del(own)
		}
		if diff := cmp.Diff(got.Header, head.Header); diff != "" {
			t.Errorf("%s: headers of GET (-) and HEAD (+):\n%s", path, diff)
		}
	}
	if a := h.ask("HEAD", "/executions", "", "Authorization", "Bearer none").want(401); len(a.body) > 0 {
		t.Errorf("a body: %s", a.body)
	}
}

// head is what comes before the body, which is not waited for.
func (h *testServer) head(method, path string) *http.Response {
	h.Helper()
	response, err := client.Do(h.request(method, path, ""))
	must(h, err)
	must(h, response.Body.Close())
	return response
}

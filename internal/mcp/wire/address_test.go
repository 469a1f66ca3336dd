package wire

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestWhereAServerMayLead asks for each pair of a configured URL and a named one. What is allowed fails for another reason: nobody listens at port 1, and
// no name resolves.
func TestWhereAServerMayLead(t *testing.T) {
	for _, row := range []struct {
		configured, named string
		blocked           bool
	}{
		{"http://localhost:1/mcp", "http://localhost:1/x", false},
		{"http://localhost:1/mcp", "http://localhost:2/x", false},
		{"http://LocalHost.:1/mcp", "http://localhost:2/x", false},
		{"http://localhost:1/mcp", "http://127.0.0.1:2/x", true}, // another name
		{"http://127.0.0.1:1/mcp", "http://127.0.0.1:2/x", false},
		{"http://127.0.0.1:1/mcp", "http://localhost:2/x", true},
		{"http://127.0.0.1:1/mcp", "http://[::1]:2/x", true},
		{"http://127.0.0.1:1/mcp", "http://169.254.169.254/latest", true},
		{"http://localhost:1/mcp", "http://10.0.0.1/", true},
		{"https://tools.example/mcp", "http://127.0.0.1:1/", true},
		{"https://tools.example/mcp", "http://localhost:1/", true},
		{"https://tools.example/mcp", "http://0x7f000001:1/", true},
		{"https://tools.example/mcp", "http://[::ffff:127.0.0.1]:1/", true},
		{"https://tools.example/mcp", "https://other.invalid/", false}, // a name that may be public
		{"http://*/mcp", "http://127.0.0.1:1/", true},
	} {
		_, err := NamedClient(row.configured).Get(row.named)
		if err == nil || (domain.CodeOf(err) == domain.CodeDestinationBlocked) != row.blocked {
			t.Errorf("%s → %s: %v", row.configured, row.named, err)
		}
	}
}

// TestAPublicNameDoesNotOpenTheMachine is a configured name whose DNS answers with the loopback. The configured port is the operator's word; no other one is.
func TestAPublicNameDoesNotOpenTheMachine(t *testing.T) {
	for name, private := range map[string]bool{
		"localhost": true, "api.localhost": true, "mcp": true, "tools.internal": true, "printer.local": true, "nas.home.arpa": true, "10.1.2.3": true,
		"127.0.0.1": true, "::1": true, "169.254.1.1": true, "tools.example": false, "localhost.example": false, "internal.example": false, "8.8.8.8": false,
		"2606:4700::1111": false,
	} {
		if isPrivate(name) != private {
			t.Errorf("%s: %v", name, !private)
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	address, _ := url.Parse(other.URL)
	pretending := reach{scheme: "https", host: "localhost", port: "443"} // a name that is not private by itself
	if _, err := pretending.dial(t.Context(), "tcp", "localhost:"+address.Port()); domain.CodeOf(err) != domain.CodeDestinationBlocked {
		t.Errorf("another port: %v", err)
	}
	pretending.port = address.Port()
	connection, err := pretending.dial(t.Context(), "tcp", "localhost:"+address.Port())
	if err != nil {
		t.Fatal(err)
	}
	connection.Close()
}

func TestRedirects(t *testing.T) {
	var target string
	var followed *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			followed = r
			return
		}
		http.Redirect(w, r, target, http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	here := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	client := NamedClient(here)
	for to, want := range map[string]string{
		here + "/end":                 "",
		"http://127.0.0.1:1/":         "not connected to",
		"http://169.254.169.254/":     "not connected to",
		"ftp://localhost/":            "no plain http",
		"http://me:secret@localhost/": "no plain http",
		here + "/again":               "more than 5 times",
	} {
		target, followed = to, nil
		request, _ := http.NewRequest(http.MethodGet, here+"/begin", nil)
		request.Header.Set("Authorization", "Bearer s3cret")
		request.Header.Set("Cookie", "s3cret")
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
		}
		if want == "" && (err != nil || followed == nil || followed.Header.Get("Authorization") != "" || followed.Header.Get("Cookie") != "") ||
			want != "" && (domain.CodeOf(err) != domain.CodeDestinationBlocked || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", to, err, followed)
		}
	}
	target, followed = here+"/end", nil
	response, err := client.Post(here+"/token", "text/plain", strings.NewReader("refresh_token=s3cret"))
	if err != nil || response.StatusCode != http.StatusTemporaryRedirect || followed != nil {
		t.Errorf("a body followed: %v", err)
	}
}

func TestADowngradeIsNotFollowed(t *testing.T) {
	from, _ := http.NewRequest(http.MethodGet, "https://tools.example/", nil)
	to, _ := http.NewRequest(http.MethodGet, "http://tools.example/", nil)
	if err := reachOf("https://tools.example/").redirect(to, []*http.Request{from}); domain.CodeOf(err) != domain.CodeDestinationBlocked {
		t.Error(err)
	}
	post, _ := http.NewRequest(http.MethodPost, "https://tools.example/", nil)
	lost, _ := http.NewRequest(http.MethodGet, "https://tools.example/2", nil)
	if err := reachOf("https://tools.example/").redirect(lost, []*http.Request{post}); domain.CodeOf(err) != domain.CodeDestinationBlocked {
		t.Error(err)
	}
	session, _ := http.NewRequest(http.MethodPost, "https://other.example/", nil)
	session.Header.Set("Mcp-Session-Id", "x")
	if err := reachOf("https://tools.example/").redirect(session, []*http.Request{post}); err != nil || session.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%v, %v", err, session.Header)
	}
}

// TestDocumentsAreBounded is a server whose metadata has no end.
func TestDocumentsAreBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	response, err := NamedClient(server.URL).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	n := 0
	piece := make([]byte, 32<<10)
	for err == nil {
		var more int
		more, err = response.Body.Read(piece)
		n += more
	}
	if n != maxDocumentBytes || !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

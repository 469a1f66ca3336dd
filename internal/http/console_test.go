package http

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"signoff/internal/console"
	"signoff/internal/domain"
)

// browser is what the usual ones accept where a person opens an address.
const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

func TestBrowsersGetTheConsole(t *testing.T) {
	h := newTestServer(t)
	for accept, page := range map[string]bool{
		browser: true, "text/html": true, "text/*": true, "application/json;q=0.9, text/html": true,
		"": false, "*/*": false, "application/json": false, "application/json, text/html": false, "text/html;q=0.5, */*": false,
		"text/html;q=0, */*": false, "image/png": false, "nonsense": false,
	} {
		a := h.ask("GET", "/", "", "Authorization", "", "Accept", accept).want(200)
		if got := a.header.Get("Content-Type"); (got == "text/html; charset=utf-8") != page || !page && a.text("service") != "signoff" {
			t.Errorf("Accept %q: %s", accept, got)
		}
		if got := a.header.Get("Vary"); got != "Accept" {
			t.Errorf("Accept %q: Vary is %q", accept, got)
		}
	}
	if page := string(h.ask("GET", "/", "", "Accept", browser).body); !strings.Contains(page, `src="`+h.file("main.js")+`"`) {
		t.Error(page)
	}
}

// consoleFolder has the files as they are written.
const consoleFolder = "../console/web"

// consoleMedia are the kinds of files that the console may have.
var consoleMedia = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// file is the address of a file of the console.
func (h *testServer) file(name string) string {
	return console.Path + h.server.console.Release() + "/" + name
}

// TestTheConsoleIsServedAsItLies reads the folder: a file of a kind that is not embedded would be missing in the binary alone.
func TestTheConsoleIsServedAsItLies(t *testing.T) {
	h := newTestServer(t)
	page := h.ask("GET", "/", "", "Accept", browser).want(200).header
	entries, err := os.ReadDir(consoleFolder)
	must(t, err)
	for _, entry := range entries {
		name := entry.Name()
		media, known := consoleMedia[filepath.Ext(name)]
		if !known {
			t.Errorf("%s is of no kind that is served", name)
			continue
		}
		content, err := os.ReadFile(filepath.Join(consoleFolder, name))
		must(t, err)
		path := h.file(name)
		if name == "index.html" {
			h.ask("GET", path, "").problem(404, domain.CodeNotFound)
			path = "/"
		}
		a := h.ask("GET", path, "", "Authorization", "", "Accept", browser).want(200)
		if h.written(a.body) != string(content) || a.header.Get("Content-Type") != media {
			t.Errorf("%s is not what lies there, or no %s: %v", path, media, a.header)
		}
		for _, name := range []string{"Content-Security-Policy", "Cross-Origin-Opener-Policy", "Permissions-Policy", "X-Frame-Options"} {
			if want := page.Get(name); want == "" || a.header.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, a.header.Get(name))
			}
		}
	}
	if len(entries) < 10 {
		t.Errorf("only %d files", len(entries))
	}
}

var ahead = regexp.MustCompile(`<link rel="modulepreload" href="([^"]*)">\n`)

// written is what lies there, of what is served: the page without the release, and without the list of modules.
func (h *testServer) written(served []byte) string {
	return strings.ReplaceAll(ahead.ReplaceAllString(string(served), ""), h.file(""), console.Path)
}

// TestThePageNamesAllModules: on a bad line each step from module to module takes as long as the module itself.
func TestThePageNamesAllModules(t *testing.T) {
	h := newTestServer(t)
	var named []string
	for _, found := range ahead.FindAllSubmatch(h.ask("GET", "/", "", "Accept", browser).want(200).body, -1) {
		named = append(named, string(found[1]))
		h.ask("GET", string(found[1]), "").want(200)
	}
	modules, err := filepath.Glob(consoleFolder + "/*.js")
	must(t, err)
	for i, name := range modules {
		modules[i] = h.file(filepath.Base(name))
	}
	if !slices.Equal(named, modules) {
		t.Errorf("the page names %q, and there are %q", named, modules)
	}
}

// TestTheConsolesPolicy: what the page must never be able to do is not a matter of taste.
func TestTheConsolesPolicy(t *testing.T) {
	h := newTestServer(t)
	header := h.ask("GET", "/", "", "Accept", browser).want(200).header
	policy := strings.Split(header.Get("Content-Security-Policy"), "; ")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "media-src blob:", "base-uri 'none'", "form-action 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	} {
		if !slices.Contains(policy, want) {
			t.Errorf("the policy does not say %s: %q", want, policy)
		}
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
	} {
		if header.Get(name) != want {
			t.Errorf("%s is %q", name, header.Get(name))
		}
	}
	for _, sense := range []string{"camera", "microphone", "geolocation", "display-capture", "usb"} {
		if !strings.Contains(header.Get("Permissions-Policy"), sense+"=()") {
			t.Errorf("the page may use %s", sense)
		}
	}
}

func TestTheConsoleHasNothingElse(t *testing.T) {
	h := newTestServer(t)
	for _, name := range []string{
		"none.js", "index.html", "main.ts", "main.js.map", "", ".", "..", "../console.go", "..%2fconsole.go", "..%2f..%2fguard.go", "%2e%2e%2fguard.go", "Main.js", "main.js%00",
		"main%2ejs/x", "console/main.js", "main.js/", strings.Repeat("a", 200) + ".js",
	} {
		h.ask("GET", h.file(name), "").problem(404, domain.CodeNotFound)
	}
	for _, path := range []string{"main.js", "/main.js", "UPPERCASE0123456/main.js", h.server.console.Release() + "0/main.js", "../console/main.js"} {
		h.ask("GET", console.Path+path, "").problem(404, domain.CodeNotFound)
	}
	h.ask("GET", h.file("main.js?v=1"), "").problem(422, domain.CodeInvalid)
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if a := h.ask(method, h.file("main.js"), "").want(405); a.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %v", method, a.header)
		}
	}
}

// TestABrowserKeepsFilesAndNotThePage: an upgraded server must not be shown with modules of the one before; and a telephone should
// not ask for seventy files that it has.
func TestABrowserKeepsFilesAndNotThePage(t *testing.T) {
	h := newTestServer(t)
	const asked, kept = "no-cache", "public, max-age=31536000, immutable"
	tags := map[string]string{}
	for path, keep := range map[string]string{
		"/": asked, h.file("main.js"): kept, h.file("base.css"): kept, h.file("icon.svg"): kept, "/console/0123456789abcdef/keys.js": asked,
	} {
		first := h.ask("GET", path, "", "Accept", browser).want(200)
		tag := first.header.Get("ETag")
		if !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) || tags[tag] != "" {
			t.Errorf("%s has the tag %s, as %q has", path, tag, tags[tag])
		}
		tags[tag] = path
		for has, status := range map[string]int{
			tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, strings.Trim(tag, `"`): 200, "": 200,
		} {
			a := h.ask("GET", path, "", "Accept", browser, "If-None-Match", has).want(status)
			if a.header.Get("ETag") != tag || a.header.Get("Cache-Control") != keep || (len(a.body) == 0) != (status == 304) {
				t.Errorf("%s with %s: %v", path, has, a.header)
			}
			if want := first.header.Get("Vary"); a.header.Get("Vary") != want {
				t.Errorf("%s with %s: Vary is %q", path, has, a.header.Get("Vary"))
			}
		}
	}
	if a := h.ask("GET", "/", "", "If-None-Match", "*").want(200); a.header.Get("ETag") != "" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the index is kept: %v", a.header)
	}
}

// TestAPersonComesFromAnotherSite: a link in a mail opens the page, and nothing else gets in from there.
func TestAPersonComesFromAnotherSite(t *testing.T) {
	h := newTestServer(t)
	link := []string{"Accept", browser, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document", "Sec-Fetch-User", "?1"}
	h.ask("GET", "/", "", link...).want(200)
	for name, test := range map[string]struct {
		method, path string
		extra        []string
	}{
		"a frame":           {"GET", "/", []string{"Sec-Fetch-Dest", "iframe"}},
		"an object":         {"GET", "/", []string{"Sec-Fetch-Dest", "object"}},
		"a picture":         {"GET", "/", []string{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}},
		"a fetch":           {"GET", "/", []string{"Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}},
		"without a mode":    {"GET", "/", []string{"Sec-Fetch-Mode", ""}},
		"of another origin": {"GET", "/", []string{"Origin", "https://evil.example"}},
		"of none":           {"GET", "/", []string{"Origin", "null"}},
		"a form":            {"POST", "/", nil},
		"another page":      {"GET", "/executions", nil},
		"a file":            {"GET", h.file("main.js"), nil},
		"a decision":        {"POST", "/approvals/" + someID, nil},
		"the feed":          {"GET", "/events", nil},
		"health":            {"GET", "/healthz", nil},
		"two slashes":       {"GET", "//", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h.ask(test.method, test.path, "", slices.Concat(link, test.extra)...).problem(403, domain.CodeForeignOrigin)
		})
	}
}

// TestTheConsolesOwnRequestsPass: as browsers send them from the page.
func TestTheConsolesOwnRequestsPass(t *testing.T) {
	h := newTestServer(t)
	id := h.create("ask df")
	approval, hash := h.pending(id)
	own := []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Accept", typeJSON}
	writing := slices.Concat(own, []string{"Origin", h.url})
	h.ask("GET", "/approvals?status=pending", "", own...).want(200)
	h.ask("GET", "/executions/"+id+"/events", "", own...).want(200)
	h.ask("POST", "/approvals/"+approval, `{"decision":"approve","argumentsHash":"`+hash+`"}`, writing...).want(200)
	for _, file := range []string{"main.js", "base.css", "icon.svg"} {
		h.ask("GET", h.file(file), "", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "script", "Origin", h.url).want(http.StatusOK)
	}
	h.ask("GET", "/", "", "Accept", browser, "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document").want(200)
}

package http

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

const (
	pngBytes = "\x89PNG\r\n\x1a\n<script>alert(1)</script>"
	jpgBytes = "\xff\xd8\xff\xe0photo"
)

// upload sends a file and returns its id.
func (h *testServer) upload(name, content string) string {
	h.Helper()
	return h.ask("POST", "/files?name="+name, content, "Content-Type", "image/svg+xml").want(201).text("id")
}

func image(id string) string { return fmt.Sprintf(`{"type":"image","fileId":%q}`, id) }

// prompting is a body that creates an execution with the parts.
func prompting(parts string, more ...string) string {
	return fmt.Sprintf(`{"source":{"type":"internal"},"prompt":[%s]%s}`, parts, strings.Join(more, ""))
}

func TestFilesAreSentAndRead(t *testing.T) {
	h := newTestServer(t)
	a := h.ask("POST", "/files?name=..%2Fgr%C3%BC%C3%9Fe%22.png", pngBytes, "Content-Type", "text/html").want(201)
	hash := sha256.Sum256([]byte(pngBytes))
	if a.text("mediaType") != domain.MediaPNG || a.text("name") != `grüße".png` || a.text("sha256") != hex.EncodeToString(hash[:]) {
		t.Errorf("%s", a.body)
	}
	if masked := h.ask("POST", "/files?name="+canary+".txt", "password: "+canary).want(201); strings.Contains(masked.text("name"), canary) || masked.get("size") != float64(len("password: [masked]")) {
		t.Errorf("a text with a secret: %s", masked.body)
	}
	photo, pdf, text := a.text("id"), h.upload("a.pdf", "%PDF-1.7 <html>"), h.upload("a.html", "<html><script>1</script>")
	created := h.ask("POST", "/executions", prompting(`{"type":"text","text":"only one"},`+image(photo)+`,{"type":"text","text":"two"},{"type":"file","fileId":"`+pdf+`","name":"scan.pdf"},{"type":"file","fileId":"`+text+`"}`)).want(201)
	id := created.text("id")
	if created.text("prompt") != "only one\n\ntwo" || created.count("parts") != 5 || created.text("parts", "1", "mediaType") != domain.MediaPNG || created.text("parts", "3", "name") != "scan.pdf" {
		t.Errorf("%s", created.body)
	}
	for _, row := range []struct{ file, mediaType, disposition, body string }{
		{photo, "image/png", `inline; filename*=utf-8''gr%C3%BC%C3%9Fe%22.png`, pngBytes},
		{pdf, "application/pdf", `attachment; filename=a.pdf`, "%PDF-1.7 <html>"},
		{text, "text/plain; charset=utf-8", `attachment; filename=a.html`, "<html><script>1</script>"},
	} {
		got := h.ask("GET", "/executions/"+id+"/files/"+row.file, "").want(200)
		for name, want := range map[string]string{"Content-Type": row.mediaType, "Content-Disposition": row.disposition, "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'"} {
			if got.header.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
			}
		}
		if string(got.body) != row.body {
			t.Errorf("%s: the bytes are %q", row.mediaType, got.body)
		}
		if head := h.head("HEAD", "/executions/"+id+"/files/"+row.file); head.Header.Get("Content-Length") != fmt.Sprint(len(row.body)) || head.StatusCode != 200 {
			t.Errorf("HEAD: %v", head.Header)
		}
	}
	h.ended(id)
	if end := h.ask("GET", "/executions/"+id, "").want(200); end.count("parts") != 5 {
		t.Errorf("%s", end.body)
	}
	if export := h.ask("GET", "/executions/"+id+"/export", "").want(200); !strings.Contains(string(export.body), `"fileId":"`+photo+`"`) {
		t.Errorf("the export names no file: %s", export.body)
	}
}

// TestFilesThatAreNotTaken: what a client sends wrong is a clear error and leaves nothing.
func TestFilesThatAreNotTaken(t *testing.T) {
	h := newTestServer(t)
	for name, row := range map[string]struct {
		content string
		status  int
		code    domain.Code
		says    string
	}{
		"nothing":           {"", 400, domain.CodeMalformed, "empty"},
		"an SVG":            {"<svg onload=alert(1)/>", 415, domain.CodeUnsupportedMedia, "SVG"},
		"a program":         {"\x7fELF\x00", 415, domain.CodeUnsupportedMedia, "PNG, JPEG, GIF, WebP, PDF and text"},
		"40 MB":             {jpgBytes + strings.Repeat("x", 40_000_000), 413, domain.CodePayloadTooLarge, "20000000 bytes"},
		"a byte too many":   {jpgBytes + strings.Repeat("x", domain.MaxFileSize), 413, domain.CodePayloadTooLarge, "20000000 bytes"},
		"a text of 1.5 MiB": {strings.Repeat("x", 3<<19), 413, domain.CodePayloadTooLarge, "text file"},
	} {
		for _, chunked := range []bool{false, true} {
			r := h.request("POST", "/files?name=a.png", row.content)
			if chunked {
				r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(row.content))
			}
			response, err := client.Do(r)
			if err != nil {
				t.Fatalf("%s, chunked %t: %v", name, chunked, err)
			}
			body, err := io.ReadAll(response.Body)
			must(t, err)
			response.Body.Close()
			if a := (answer{h, response.StatusCode, response.Header, body}).problem(row.status, row.code); !strings.Contains(a.text("detail"), row.says) {
				t.Errorf("%s: %s", name, a.body)
			}
		}
	}
	h.ask("POST", "/files?nam=a.png", pngBytes).problem(422, domain.CodeInvalid)
	h.ask("POST", "/files", pngBytes, "Content-Encoding", "gzip").problem(415, domain.CodeUnsupportedMedia)
	if big := h.ask("POST", "/files", jpgBytes+strings.Repeat("x", domain.MaxFileSize-len(jpgBytes))).want(201); big.text("mediaType") != domain.MediaJPEG {
		t.Errorf("20 MB: %s", big.body)
	}
	h.ask("POST", "/executions", `{"source":{"type":"internal"},"prompt":"`+strings.Repeat("x", 1<<20)+`"}`).problem(413, domain.CodePayloadTooLarge)
}

func TestFilesOfOthers(t *testing.T) {
	h := newTestServer(t)
	photo := h.upload("a.png", pngBytes)
	id := h.ask("POST", "/executions", prompting(image(photo))).want(201).text("id")
	other, another := h.create("only this"), h.upload("b.png", pngBytes)
	foreign := "Bearer " + h.key("foreign", everyScope()...)
	h.ask("GET", "/executions/"+id+"/files/"+photo, "").want(200)
	h.ask("GET", "/executions/"+id+"/files/"+another, "").problem(404, domain.CodeNotFound)
	h.ask("GET", "/executions/"+other+"/files/"+photo, "").problem(404, domain.CodeNotFound)
	h.ask("GET", "/executions/"+id+"/files/nothing", "").problem(404, domain.CodeNotFound)
	h.ask("GET", "/executions/"+id+"/files/"+photo, "", "Authorization", foreign).problem(404, domain.CodeNotFound)
	h.ask("POST", "/executions", prompting(image(photo)), "Authorization", foreign).problem(422, domain.CodeInvalid)
	reader, writer := "Bearer "+h.key("", string(keys.ExecutionsRead)), "Bearer "+h.key("", string(keys.ExecutionsWrite))
	h.ask("POST", "/files", pngBytes, "Authorization", reader).problem(403, domain.CodeForbidden)
	h.ask("POST", "/files", pngBytes, "Authorization", writer).want(201)
	h.ask("GET", "/executions/"+id+"/files/"+photo, "", "Authorization", writer).problem(403, domain.CodeForbidden)
}

// TestPartsThatAreNotTaken: each gets a pointer, and starts nothing.
func TestPartsThatAreNotTaken(t *testing.T) {
	h := newTestServer(t)
	photo, pdf := h.upload("a.png", pngBytes), h.upload("a.pdf", "%PDF-1.7")
	must(t, os.WriteFile(filepath.Join(h.root, "photo.jpg"), []byte(jpgBytes), 0o600))
	must(t, os.WriteFile(filepath.Join(h.root, "drawing.svg"), []byte("<svg/>"), 0o600))
	must(t, os.WriteFile(filepath.Join(h.root, "big.jpg"), []byte(jpgBytes+strings.Repeat("x", domain.MaxFileSize)), 0o600))
	must(t, os.Mkdir(filepath.Join(h.root, "folder"), 0o700))
	secret := filepath.Join(t.TempDir(), "secret.png")
	must(t, os.WriteFile(secret, []byte(pngBytes), 0o600))
	must(t, os.Symlink(secret, filepath.Join(h.root, "link.png")))
	path := func(name string) string { return fmt.Sprintf(`{"type":"image","path":%q}`, name) }
	var big []string
	for n := range 3 {
		big = append(big, image(h.upload("big.jpg", jpgBytes+fmt.Sprint(n)+strings.Repeat("x", 18_000_000))))
	}
	for name, row := range map[string]struct{ parts, more, pointer, says string }{
		"none":                     {"", "", "/prompt", ""},
		"51":                       {strings.Repeat(`{"type":"text","text":"a"},`, 50) + `{"type":"text","text":"a"}`, "", "/prompt", ""},
		"50 pictures":              {strings.Repeat(image(photo)+",", 49) + image(photo), "", "/prompt", "20 pictures"},
		"another type":             {`{"type":"video","path":"a"}`, "", "/prompt/0/type", ""},
		"a name that nobody knows": {`{"type":"text","text":"a","data":"b"}`, "", "/prompt/0/data", ""},
		"no file":                  {`{"type":"image"}`, "", "/prompt/0", "fileId or path"},
		"a blank text":             {image(photo) + `,{"type":"text","text":" "}`, "", "/prompt/1/text", "empty"},
		"an id of nobody":          {image("file_01890000-0000-7000-8000-000000000000"), "", "/prompt/0/fileId", "no such file"},
		"a PDF as a picture":       {image(pdf), "", "/prompt/0/type", "application/pdf"},
		"54 MB":                    {strings.Join(big, ","), "", "/prompt", "50000000 bytes"},
		"outside":                  {path("../" + filepath.Base(filepath.Dir(secret)) + "/secret.png"), "", "/prompt/0/path", "outside"},
		"outside, by a full path":  {path(secret), "", "/prompt/0/path", "outside"},
		"outside, by a link":       {path("link.png"), "", "/prompt/0/path", "outside"},
		"a path to nothing":        {path("nothing.png"), "", "/prompt/0/path", ""},
		"a folder":                 {path("folder"), "", "/prompt/0/path", ""},
		"an SVG by its path":       {path("drawing.svg"), "", "/prompt/0/path", "SVG"},
		"20 MB and more":           {path("big.jpg"), "", "/prompt/0/path", "at most 20000000"},
		"a question first":         {path("photo.jpg"), `,"capabilities":{"read":"ask"}`, "/prompt/0/path", "asks a person"},
		"a denied capability":      {path("photo.jpg"), `,"capabilities":{"read":"deny"}`, "/prompt/0/path", "does not let"},
		"a rule that denies":       {path("photo.jpg"), `,"policy":{"rules":[{"effect":"deny","matcher":{"path":"ROOT/photo.jpg"}}]}`, "/prompt/0/path", "does not let"},
		"a model that takes none":  {image(photo), `,"source":{"type":"internal","model":"dear"}`, "/prompt", "dear"},
		"an external agent":        {image(photo), `,"source":{"type":"acp","command":"mock"}`, "/prompt", ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := prompting(row.parts, strings.ReplaceAll(row.more, "ROOT", h.root))
			if strings.Contains(row.more, `"source"`) {
				body = strings.Replace(body, `"source":{"type":"internal"},`, "", 1)
			}
			a := h.ask("POST", "/executions", body).problem(422, domain.CodeInvalid)
			if pointer := a.text("errors", "0", "pointer"); pointer != row.pointer || !strings.Contains(string(a.body), row.says) {
				t.Errorf("%q: %s", pointer, a.body)
			}
		})
	}
	if list := h.ask("GET", "/executions", "").want(200); list.count("items") != 0 {
		t.Errorf("something was created: %s", list.body)
	}
}

// TestPathsAreReadOnce: the file of a path is read when the prompt is accepted, and not again.
func TestPathsAreReadOnce(t *testing.T) {
	h := newTestServer(t)
	name := filepath.Join(h.root, "photo.jpg")
	must(t, os.WriteFile(name, []byte(jpgBytes), 0o600))
	body := prompting(`{"type":"image","path":"photo.jpg"},{"type":"image","path":"./photo.jpg","name":"b.jpg"}`, `,"keepOpen":true`)
	created := h.ask("POST", "/executions", body, "Idempotency-Key", "k").want(201)
	id := created.text("id")
	h.idle(id, 1)
	must(t, os.WriteFile(name, []byte(jpgBytes+" of another day"), 0o600))
	for n, want := range []string{"photo.jpg", "b.jpg"} {
		if got := created.text("parts", fmt.Sprint(n), "name"); got != want {
			t.Errorf("part %d is called %q", n, got)
		}
		got := h.ask("GET", "/executions/"+id+"/files/"+created.text("parts", fmt.Sprint(n), "fileId"), "").want(200)
		if string(got.body) != jpgBytes {
			t.Errorf("part %d is %q", n, got.body)
		}
	}
	prompt := h.ask("POST", "/executions/"+id+"/prompts", `{"prompt":[{"type":"image","path":"photo.jpg"}]}`, "Idempotency-Key", "p").want(202)
	file := prompt.text("parts", "0", "fileId")
	if got := h.ask("GET", "/executions/"+id+"/files/"+file, "").want(200); string(got.body) != jpgBytes+" of another day" {
		t.Errorf("the further prompt has %q", got.body)
	}
	must(t, os.Remove(name))
	again := h.ask("POST", "/executions", body, "Idempotency-Key", "k").want(201)
	if again.text("id") != id || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s", again.body)
	}
	if p := h.ask("POST", "/executions/"+id+"/prompts", `{"prompt":[{"type":"image","path":"photo.jpg"}]}`, "Idempotency-Key", "p").want(202); p.text("parts", "0", "fileId") != file {
		t.Errorf("the same prompt again: %s", p.body)
	}
	h.ask("POST", "/executions/"+id+"/prompts", `{"prompt":[{"type":"image","path":"photo.jpg"}]}`).problem(422, domain.CodeInvalid)
	h.idle(id, 2)
}

// TestTextsInParts: a list of texts alone is one text, and with templates each text part is one.
func TestTextsInParts(t *testing.T) {
	h := newTestServer(t)
	plain := h.ask("POST", "/executions", prompting(`{"type":"text","text":"only one"},{"type":"text","text":"two"}`)).want(201)
	if plain.text("prompt") != "only one\n\ntwo" || plain.get("parts") != nil {
		t.Errorf("%s", plain.body)
	}
	secret := h.ask("POST", "/executions", prompting(`{"type":"text","text":"only `+canary+`"},`+image(h.upload("a.png", pngBytes)))).want(201)
	if strings.Contains(string(secret.body), canary) {
		t.Errorf("a secret is kept: %s", secret.body)
	}
}

// TestManyUploadsAtOnce: uploads wait for room in memory; whoever finds none is told to try again.
func TestManyUploadsAtOnce(t *testing.T) {
	h := newTestServer(t)
	const clients = 12
	statuses := make(chan int, clients)
	for range clients {
		go func() {
			r := h.request("POST", "/files", jpgBytes+strings.Repeat("x", 15_000_000))
			response, err := client.Do(r)
			if err != nil {
				statuses <- 0
				return
			}
			response.Body.Close()
			statuses <- response.StatusCode
		}()
	}
	for range clients {
		select {
		case status := <-statuses:
			if status != http.StatusCreated && status != http.StatusServiceUnavailable {
				t.Errorf("an upload is answered with %d", status)
			}
		case <-time.After(time.Minute):
			t.Fatal("an upload is not answered")
		}
	}
}

// TestBrokenUploads: of a body that breaks off nothing is kept.
func TestBrokenUploads(t *testing.T) {
	h := newTestServer(t)
	connection := h.dial()
	_, err := fmt.Fprintf(connection, "POST /files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n%s", h.token, jpgBytes)
	must(t, err)
	must(t, connection.Close())
	eventually(t, "the request to end", func() bool { return strings.Contains(h.logs.String(), `"route":"/files"`) })
	if n, err := h.store.RemoveUploads(t.Context(), 0, 10); err != nil || n != 0 {
		t.Errorf("%d files are kept, %v", n, err)
	}
}

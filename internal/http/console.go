package http

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
)

// consoleFolder is the console as it is written: what a browser runs is what a reader of the repository reads.
//
//go:embed console/*.html console/*.css console/*.js console/*.svg
var consoleFolder embed.FS

const (
	typeHTML    = "text/html"
	consolePage = "index.html"

	// consoleFiles is where the page, as it is written, finds what it loads.
	consoleFiles = "/console/"
)

// consoleTypes are the kinds of files that the console may have.
var consoleTypes = map[string]string{
	".html": typeHTML + "; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// consoleHeaders are those of the page and its files, beside the ones of every answer. The page holds somebody's token and shows what
// models write: it runs its own modules and no other code, talks to this server alone, makes no markup out of text, lies in nobody's
// frame, and is let go of by whoever opened it. A browser asks each time whether it still has the page, which names the release
// of all the rest.
var consoleHeaders = map[string]string{
	"Cache-Control": "no-cache",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Permissions-Policy": "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), geolocation=(), gyroscope=(), " +
		"magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), usb=(), xr-spatial-tracking=()",
	"X-Frame-Options": "DENY",
}

// console is the page, and what it loads.
type console struct {
	page    consoleFile
	files   map[string]consoleFile
	release string // a digest of them all, with all that is sent with them
}

// consoleFile is one file, ready to be sent.
type consoleFile struct {
	content    []byte
	media, tag string
}

// readConsole reads what was embedded.
func readConsole() (*console, error) {
	entries, err := consoleFolder.ReadDir("console")
	if err != nil {
		return nil, fmt.Errorf("http: read the console: %w", err)
	}
	files, whole := map[string]consoleFile{}, sha256.New()
	for _, entry := range entries {
		content, err := consoleFolder.ReadFile("console/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("http: read the console: %w", err)
		}
		file := newConsoleFile(entry.Name(), content)
		files[entry.Name()] = file
		fmt.Fprintln(whole, entry.Name(), file.tag, file.media)
	}
	fmt.Fprintln(whole, consoleHeaders) // which are kept with a file as long as the file itself; printed in the order of their names
	c := &console{files: files, release: hex.EncodeToString(whole.Sum(nil)[:8])}
	c.page = c.released(files[consolePage].content)
	delete(files, consolePage)
	return c, nil
}

func newConsoleFile(name string, content []byte) consoleFile {
	sum := sha256.Sum256(content)
	return consoleFile{content: content, media: consoleTypes[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// released is the page with the release in the addresses of its files, and with all modules named at once. A browser learns of a
// module only from the one that imports it, and on a bad line each of those steps takes the time of a line of text.
func (c *console) released(page []byte) consoleFile {
	folder := consoleFiles + c.release + "/"
	var ahead strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if path.Ext(name) == ".js" {
			fmt.Fprintf(&ahead, "<link rel=\"modulepreload\" href=\"%s%s\">\n", folder, name)
		}
	}
	text := strings.ReplaceAll(string(page), `"`+consoleFiles, `"`+folder)
	return newConsoleFile(consolePage, []byte(strings.Replace(text, "</head>", ahead.String()+"</head>", 1)))
}

type getIndex struct {
	IfNoneMatch string `header:"If-None-Match"`
}

// getIndex tells who answers here: a program in JSON, a person by the console.
func (s *Server) getIndex(ctx context.Context, request getIndex) (responder, error) {
	if negotiate(infoOf(ctx).accept, typeJSON, typeHTML) == typeHTML {
		return consoleAnswer{consoleFile: s.console.page, has: request.IfNoneMatch, varies: true}, nil
	}
	index := api.Index{Service: api.IndexServiceSignoff, Version: s.version, Document: "/openapi.yaml"}
	return okJSON(index).with("Vary", "Accept"), nil
}

type getConsoleFile struct {
	Release     string `path:"release"`
	File        string `path:"file"`
	IfNoneMatch string `header:"If-None-Match"`
}

// getConsoleFile serves what the page loads. The page itself has one address, which is the index. A browser never asks twice for a file of
// this server's release. A page that came from a replica of another one gets what there is here: while servers are replaced
// one by one, a page with a stranger among its modules is mostly of more use than none.
func (s *Server) getConsoleFile(_ context.Context, request getConsoleFile) (responder, error) {
	file, known := s.console.files[request.File]
	if !known {
		return nil, domain.Errorf(domain.CodeNotFound, "The console has no such file.")
	}
	return consoleAnswer{consoleFile: file, has: request.IfNoneMatch, lasts: request.Release == s.console.release}, nil
}

// consoleAnswer is a file for a client that may have it already.
type consoleAnswer struct {
	consoleFile
	has    string // the tags that the client has
	lasts  bool   // at its address there will never be another one
	varies bool   // at its address there is JSON, too
}

func (a consoleAnswer) respond(w http.ResponseWriter) error {
	header := w.Header()
	for name, content := range consoleHeaders {
		header.Set(name, content)
	}
	if a.lasts {
		header.Set("Cache-Control", "public, max-age=31536000, immutable") // a year, as RFC 8246 has it
	}
	if a.varies {
		header.Set("Vary", "Accept")
	}
	header.Set("ETag", a.tag)
	if a.has == "*" || strings.Contains(a.has, a.tag) { // a list, and proxies make tags weak
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", a.media)
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(a.content)
	return err
}

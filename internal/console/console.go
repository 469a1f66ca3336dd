package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

// folder has the files of the console, unchanged: a browser runs the files of the repository.
//
//go:embed web/*.html web/*.css web/*.js web/*.svg
var folder embed.FS

const (
	pageName = "index.html"

	// Path is the folder of the files in the source of the page.
	Path = "/console/"
)

// mediaTypes are the media types of the files.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// headers are those of the page and its files, in addition to those of every response. The page has a person's token and shows texts of
// models: it runs only its own modules, connects only to this server, shows pictures only of this server and from its own memory (those of a
// conversation need the token), plays audio from its memory alone, makes no markup of text, cannot be framed, and has no link to the window that opened it. A browser revalidates the page each time, because the page names the release of its files.
var headers = map[string]string{
	"Cache-Control": "no-cache",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src blob:; connect-src 'self'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Permissions-Policy": "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), geolocation=(), gyroscope=(), " +
		"magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), usb=(), xr-spatial-tracking=()",
	"X-Frame-Options": "DENY",
}

// Console is the page with its files. Any number of goroutines may use it at once.
type Console struct {
	page    file
	files   map[string]file
	release string // a digest of all files and headers
}

// file is one file, ready to send.
type file struct {
	content    []byte
	media, tag string
}

// Read reads the embedded files. It fails only if the binary is broken.
func Read() (*Console, error) {
	entries, err := folder.ReadDir("web")
	if err != nil {
		return nil, fmt.Errorf("console: read the files: %w", err)
	}
	files, whole := map[string]file{}, sha256.New()
	for _, entry := range entries {
		content, err := folder.ReadFile("web/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("console: read the files: %w", err)
		}
		read := newFile(entry.Name(), content)
		files[entry.Name()] = read
		fmt.Fprintln(whole, entry.Name(), read.tag, read.media)
	}
	fmt.Fprintln(whole, headers) // a browser keeps them with a file; printed in the order of their names
	c := &Console{files: files, release: hex.EncodeToString(whole.Sum(nil)[:8])}
	c.page = c.released(files[pageName].content)
	delete(files, pageName)
	return c, nil
}

func newFile(name string, content []byte) file {
	sum := sha256.Sum256(content)
	return file{content: content, media: mediaTypes[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// released returns the page with the release in the addresses of its files, and with preload links to all modules. Without the links, a
// browser finds a module only after the one that imports it, which takes a round trip each.
func (c *Console) released(page []byte) file {
	released := Path + c.release + "/"
	var ahead strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if path.Ext(name) == ".js" {
			fmt.Fprintf(&ahead, "<link rel=\"modulepreload\" href=\"%s%s\">\n", released, name)
		}
	}
	text := strings.ReplaceAll(string(page), `"`+Path, `"`+released)
	return newFile(pageName, []byte(strings.Replace(text, "</head>", ahead.String()+"</head>", 1)))
}

// Release returns the release in the addresses of the files.
func (c *Console) Release() string { return c.release }

// Page returns the page. Has is the If-None-Match header of the client.
func (c *Console) Page(has string) Answer { return Answer{file: c.page, has: has, varies: true} }

// File returns a file of the page; false: there is none. A browser never asks twice for a file of this server's release. A page from a replica
// of another release gets this server's file: during a rolling upgrade, a page with one module of another release mostly works.
func (c *Console) File(release, name, has string) (Answer, bool) {
	known, is := c.files[name]
	return Answer{file: known, has: has, lasts: release == c.release}, is
}

// Answer is the response with a file, or 304 if the client has it.
type Answer struct {
	file
	has    string // the tags that the client has
	lasts  bool   // its address never has another content
	varies bool   // its address also has JSON
}

// Send writes the response. Its headers replace those of other responses.
func (a Answer) Send(w http.ResponseWriter) error {
	header := w.Header()
	for name, content := range headers {
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

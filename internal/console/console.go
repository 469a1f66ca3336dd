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

// folder is the console as it is written: what a browser runs is what a reader of the repository reads.
//
//go:embed web/*.html web/*.css web/*.js web/*.svg
var folder embed.FS

const (
	pageName = "index.html"

	// Path is where the page, as it is written, finds the files that it loads.
	Path = "/console/"
)

// mediaTypes are the kinds of files that the console may have.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// headers are those of the page and its files, beside the ones of every answer. The page holds somebody's token and shows what
// models write: it runs its own modules and no other code, talks to this server alone, makes no markup out of text, lies in nobody's
// frame, and is let go of by whoever opened it. A browser asks each time whether it still has the page, which names the release
// of all the rest.
var headers = map[string]string{
	"Cache-Control": "no-cache",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Permissions-Policy": "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), geolocation=(), gyroscope=(), " +
		"magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), usb=(), xr-spatial-tracking=()",
	"X-Frame-Options": "DENY",
}

// Console is the page, and the files that it loads. Any number of goroutines may use it at once.
type Console struct {
	page    file
	files   map[string]file
	release string // a digest of them all, with all that is sent with them
}

// file is one file, ready to be sent.
type file struct {
	content    []byte
	media, tag string
}

// Read reads the embedded files. It fails only where the binary is broken.
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
	fmt.Fprintln(whole, headers) // which are kept with a file as long as the file itself; printed in the order of their names
	c := &Console{files: files, release: hex.EncodeToString(whole.Sum(nil)[:8])}
	c.page = c.released(files[pageName].content)
	delete(files, pageName)
	return c, nil
}

func newFile(name string, content []byte) file {
	sum := sha256.Sum256(content)
	return file{content: content, media: mediaTypes[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// released is the page with the release in the addresses of its files, and with all modules named at once. A browser learns of a
// module only from the one that imports it, and on a bad line each of those steps takes the time of a line of text.
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

// Release names the files of this server in their addresses.
func (c *Console) Release() string { return c.release }

// Page answers with the page. Has is the If-None-Match header of the client.
func (c *Console) Page(has string) Answer { return Answer{file: c.page, has: has, varies: true} }

// File answers with a file that the page loads; false: there is none. The page itself has one address, which is the index. A browser never asks
// twice for a file of this server's release. A page that came from a replica of another one gets the file of this server: while servers are
// replaced one by one, a page with a stranger among its modules is mostly of more use than none.
func (c *Console) File(release, name, has string) (Answer, bool) {
	known, is := c.files[name]
	return Answer{file: known, has: has, lasts: release == c.release}, is
}

// Answer is a file for a client that may have it already.
type Answer struct {
	file
	has    string // the tags that the client has
	lasts  bool   // at its address there will never be another one
	varies bool   // at its address there is JSON, too
}

// Send writes the answer. It replaces those headers of other answers that are not for a page.
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

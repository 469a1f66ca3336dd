package http

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

const pageStyle = `body{font:16px/1.5 system-ui,sans-serif;margin:2em auto;max-width:48em;padding:0 1em;color:#222;background:#fff}` +
	`dt{font-weight:600;margin-top:.8em}dd{margin:0;overflow-wrap:anywhere}` +
	`pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;border:1px solid #ccc;padding:.6em;margin:0;direction:ltr}` +
	`textarea{display:block;width:100%;box-sizing:border-box}button{font:inherit;padding:.5em 1.2em}.message{border-left:4px solid #888;padding-left:.8em}`

// pagePolicy lets the page be styled by this one style, and its form be sent to this server. Nothing else is loaded, run or framed.
var pagePolicy = func() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// page is an answer for people.
type page struct {
	Status  int
	Title   string
	Message string
	Facts   []fact
	Hash    string // of what is decided
	Buttons []button
}

// fact is a line of a page. All text is escaped; what comes from a model is revealed before.
type fact struct {
	Name, Text string
	Code       bool // as it stands, in lines
}

type button struct{ Value, Label string }

// Style is the one style of all pages.
func (page) Style() template.CSS { return pageStyle }

func (p page) VisitShowApprovalPageResponse(w http.ResponseWriter) error { return p.write(w) }
func (p page) VisitDecideByLinkResponse(w http.ResponseWriter) error     { return p.write(w) }

func (p page) write(w http.ResponseWriter) error {
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, p); err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("X-Robots-Tag", "noindex, nofollow")
	w.WriteHeader(p.Status)
	_, err := w.Write(body.Bytes())
	return err
}

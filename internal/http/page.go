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

//go:embed shell.js
var shellScript string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

const pageStyle = `body{font:16px/1.5 system-ui,sans-serif;margin:2em auto;max-width:48em;padding:0 1em;color:#222;background:#fff}` +
	`dt{font-weight:600;margin-top:.8em}dd{margin:0;overflow-wrap:anywhere}` +
	`pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;border:1px solid #ccc;padding:.6em;margin:0;direction:ltr}` +
	`textarea{display:block;width:100%;box-sizing:border-box}button{font:inherit;padding:.5em 1.2em}.message{border-left:4px solid #888;padding-left:.8em}`

// pagePolicy lets a page be styled by this one style, and its form be sent to this server. Nothing else is loaded, run or framed.
var pagePolicy = "default-src 'none'; style-src " + hashOf(pageStyle) + "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// shellPolicy lets the shell, besides, run its one script, and that ask this server.
var shellPolicy = pagePolicy + "; script-src " + hashOf(shellScript) + "; connect-src 'self'"

// hashOf names a style or a script in a policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is an answer for people.
type page struct {
	Status  int
	Title   string
	Message string
	Facts   []fact
	Hash    string // of what is decided; empty: nothing is decided here
	Buttons []button
	Script  template.JS
}

// fact is a line of a page. All text is escaped; what comes from a model is revealed before.
type fact struct {
	Name, Text string
	Code       bool // as it stands, in lines
}

type button struct{ Value, Label string }

// Style is the one style of all pages.
func (page) Style() template.CSS { return pageStyle }

// respond writes the page.
func (p page) respond(w http.ResponseWriter) error {
	return writePage(w, p.Status, pagePolicy, p.render())
}

// linkShell is the page that every link opens. It shows a card when the person, or the script for them, asks for it.
type linkShell struct{}

var shellPage = page{
	Title:   "Signoff",
	Message: "This link shows one request that a person decides on, or how it was decided.",
	Buttons: []button{{"show", "Show"}}, Script: template.JS(shellScript), //nolint:gosec // a file of ours
}.render()

func (linkShell) respond(w http.ResponseWriter) error {
	return writePage(w, http.StatusOK, shellPolicy, shellPage)
}

func (p page) render() []byte {
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, p); err != nil { // unreachable: the template fits, and a buffer takes all
		panic(err)
	}
	return body.Bytes()
}

func writePage(w http.ResponseWriter, status int, policy string, body []byte) error {
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("X-Robots-Tag", "noindex, nofollow")
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err
}

package http

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"

	"signoff/internal/domain"
)

//go:embed page.html
var pageText string

//go:embed shell.js
var shellScript string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

const pageStyle = `body{font:16px/1.5 system-ui,sans-serif;margin:2em auto;max-width:48em;padding:0 1em;color:#222;background:#fff}` +
	`dt{font-weight:600;margin-top:.8em}dd{margin:0;overflow-wrap:anywhere}` +
	`pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f4f4f4;border:1px solid #ccc;padding:.6em;margin:0;direction:ltr}` +
	`textarea{display:block;width:100%;box-sizing:border-box}button{font:inherit;padding:.5em 1.2em}.message{border-left:4px solid #888;padding-left:.8em}` +
	`.host{margin:0 0 1em;padding:.6em .8em;background:#a9231d;color:#fff;overflow-wrap:anywhere}.chip{display:inline-block;border:1px solid;border-radius:1em;padding:.1em .7em;font-weight:600}` +
	`.workspace{background:#e2f3ec;color:#17634a}.machine{background:#fff2da;color:#7a4b00}.chip.host{background:#a9231d;color:#fff}.lends{background:#fff2da;border-color:#7a4b00}`

// pagePolicy allows this one style and sends forms to this server only. It forbids scripts, frames and all other content.
var pagePolicy = "default-src 'none'; style-src " + hashOf(pageStyle) + "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// shellPolicy also allows the one script of the shell, and lets it call this server.
var shellPolicy = pagePolicy + "; script-src " + hashOf(shellScript) + "; connect-src 'self'"

// hashOf returns the name of a style or a script in a policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is an HTML response for people.
type page struct {
	Status  int
	Title   string
	Message string
	Facts   []fact
	Hash    string // of the arguments to decide about; empty: the page takes no decision

	Warning     string // the first line of a call that runs on the host; empty for all others
	Environment *chip  // nil: none
	Lends       string // the variables of lent credentials

	Buttons []button
	Script  template.JS
}

// fact is a line of a page. The template escapes all text; invisible characters of a model's text are made visible before.
type fact struct {
	Name, Text string
	Code       bool // preformatted
}

type button struct{ Value, Label string }

// chip names the environment of a call and its risk, in words beside the colour.
type chip struct {
	Name  string
	Risk  domain.View
	Says  string
	Shows string // a sentence
}

// Style is the style of all pages.
func (page) Style() template.CSS { return pageStyle }

func (p page) respond(w http.ResponseWriter) error {
	return writePage(w, p.Status, pagePolicy, p.render())
}

// linkShell is the page that every link opens. It loads the card by its script, or by a button without one.
type linkShell struct{}

var shellPage = page{
	Title:   "Signoff",
	Message: "This link shows one request for a decision, or its outcome.",
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

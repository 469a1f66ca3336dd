package http

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
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
// frame, and is let go of by whoever opened it. A browser may keep the files, but asks each time whether they still are the
// ones: modules of two versions do not work together.
var consoleHeaders = map[string]string{
	"Cache-Control": "no-cache",
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Permissions-Policy": "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), geolocation=(), gyroscope=(), " +
		"magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), usb=(), xr-spatial-tracking=()",
	"X-Frame-Options": "DENY",
}

// consoleFile is one file, ready to be sent.
type consoleFile struct {
	content    []byte
	media, tag string
}

// readConsole reads what was embedded, by name.
func readConsole() (map[string]consoleFile, error) {
	entries, err := consoleFolder.ReadDir("console")
	if err != nil {
		return nil, fmt.Errorf("http: read the console: %w", err)
	}
	files := map[string]consoleFile{}
	for _, entry := range entries {
		content, err := consoleFolder.ReadFile("console/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("http: read the console: %w", err)
		}
		sum := sha256.Sum256(content)
		files[entry.Name()] = consoleFile{
			content: content, media: consoleTypes[path.Ext(entry.Name())], tag: `"` + hex.EncodeToString(sum[:16]) + `"`,
		}
	}
	return files, nil
}

// GetIndex tells who answers here: a program in JSON, a person by the console.
func (s *Server) GetIndex(ctx context.Context, request api.GetIndexRequestObject) (api.GetIndexResponseObject, error) {
	if negotiate(infoOf(ctx).accept, typeJSON, typeHTML) == typeHTML {
		return consoleAnswer{s.console[consolePage], request.Params.IfNoneMatch}, nil
	}
	index := api.GetIndex200JSONResponse{Body: api.Index{Service: api.IndexServiceSignoff, Version: s.version, Document: "/openapi.yaml"}}
	index.Headers.Vary = new(varies)
	return index, nil
}

// varies is what the answer of the index depends on besides its address.
const varies = "Accept"

// GetConsoleFile serves what the page loads. The page itself has one address, which is the index.
func (s *Server) GetConsoleFile(_ context.Context, request api.GetConsoleFileRequestObject) (api.GetConsoleFileResponseObject, error) {
	file, known := s.console[request.File]
	if !known {
		return nil, domain.Errorf(domain.CodeNotFound, "The console has no such file.")
	}
	return consoleAnswer{file, request.Params.IfNoneMatch}, nil
}

// consoleAnswer is a file for a client that may have it already.
type consoleAnswer struct {
	consoleFile
	has *string
}

func (a consoleAnswer) VisitGetIndexResponse(w http.ResponseWriter) error {
	w.Header().Set("Vary", varies)
	return a.write(w)
}

func (a consoleAnswer) VisitGetConsoleFileResponse(w http.ResponseWriter) error { return a.write(w) }

func (a consoleAnswer) write(w http.ResponseWriter) error {
	header := w.Header()
	for name, content := range consoleHeaders {
		header.Set(name, content)
	}
	header.Set("ETag", a.tag)
	if known := value(a.has, ""); known == "*" || strings.Contains(known, a.tag) { // a list, and proxies make tags weak
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", a.media)
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(a.content)
	return err
}

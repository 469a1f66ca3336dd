package e2e

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Every server of the suite holds two secrets that are to be found nowhere else: a named one, which commands may be
// given, and the key of its model. Whatever the suite sees or leaves behind is looked through for them: all answers of
// the API, what models and web servers were sent, logs, what the command line prints, the folders of each server when
// its test is over, and the databases. One find fails the run, whichever test it was in.
const (
	canaryVariable   = "E2E_CANARY"
	modelKeyVariable = "E2E_MODEL_KEY"
)

var (
	canary   = "canary/" + random() + "+e2e"
	modelKey = "modelkey/" + random() + "+e2e"
)

// random is new in each run: what an earlier one has left must not fail this one, and no test can have it in its text.
func random() string {
	digits := make([]byte, 12)
	_, _ = rand.Read(digits)
	return hex.EncodeToString(digits)
}

// spelling is one way in which a secret may be written.
type spelling struct {
	name string
	text []byte
}

// spellings are the ways in which texts carry a secret by accident. Who means to can write it otherwise: see
// attacker_test.go for why that does not help.
func spellings(of, secret string) []spelling {
	all := []spelling{{of, []byte(secret)}}
	add := func(name, text string) { all = append(all, spelling{of + " in " + name, []byte(text)}) }
	for offset := range 3 {
		padded := append(make([]byte, offset), secret...)
		from, to := (offset*8+5)/6, len(padded)*8/6
		add("base64", base64.RawStdEncoding.EncodeToString(padded)[from:to])
		add("base64 of URLs", base64.RawURLEncoding.EncodeToString(padded)[from:to])
	}
	add("hex", hex.EncodeToString([]byte(secret)))
	add("capital hex", strings.ToUpper(hex.EncodeToString([]byte(secret))))
	add("a query", url.QueryEscape(secret))
	add("small letters of a query", strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(secret), "%2F", "%2f"), "%2B", "%2b"))
	return all
}

var watched = append(spellings("the canary", canary), spellings("the model's key", modelKey)...)

// finds are where secrets were seen.
type finds struct {
	mu    sync.Mutex
	lines []string
}

func (f *finds) add(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.lines, line) {
		f.lines = append(f.lines, line)
	}
}

// leaks are those of the whole run.
var leaks finds

// watcher looks for secrets in what is written to it, also where one lies across two writes.
type watcher struct {
	place string
	forms []spelling
	finds *finds
	rest  []byte
	begin int64 // of rest, in the whole
}

var _ io.Writer = (*watcher)(nil)

// look watches what comes to a place.
func look(place string, more ...spelling) *watcher {
	return &watcher{place: place, forms: slices.Concat(watched, more), finds: &leaks}
}

// longestForm bounds what a form has; the tokens of servers are the longest secrets.
const longestForm = 512

func (w *watcher) Write(p []byte) (int, error) {
	text := append(w.rest, p...)
	for _, f := range w.forms {
		if at := bytes.Index(text, f.text); at >= 0 {
			w.finds.add(fmt.Sprintf("%s is in %s, at byte %d", f.name, w.place, w.begin+int64(at)))
		}
	}
	keep := min(len(text), longestForm)
	w.begin += int64(len(text) - keep)
	w.rest = append([]byte(nil), text[len(text)-keep:]...)
	return len(p), nil
}

// secretive looks through all that a server leaves: its home with the data folder, the workspace and the homes of agents,
// and its database. Of the secrets, its own token may stand in its own file, and what an agent was given in the agent's
// own notes.
func (s *server) secretive() {
	s.t.Helper()
	var own []spelling
	if token, err := os.ReadFile(filepath.Join(s.data(), "token")); err == nil {
		own = spellings("the token", strings.TrimSpace(string(token)))
	}
	except := func(path string) bool {
		return path == filepath.Join(s.data(), "token") || strings.Contains(path, "/.scripted-agent/")
	}
	lookThrough(s.home, s.t.Name(), except, own...)
	lookThrough(s.database, s.t.Name(), except, own...)
	if s.engine.url != "" {
		must(s.t, lookThroughDatabase(s.engine.url, s.t.Name(), own...))
	}
}

// lookThrough reads all files below a folder. What goes away meanwhile, and what nobody may read, is passed over.
func lookThrough(folder, whose string, except func(path string) bool, more ...spelling) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || except(path) {
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer file.Close()
		_, _ = io.CopyBuffer(look(path+" of "+whose, more...), struct{ io.Reader }{file}, make([]byte, 1<<20))
		return nil
	})
}

// clusterFolder is where the Postgres of the suite keeps its files, as soon as somebody has asked it.
var clusterFolder struct {
	sync.Mutex
	path string
}

// lookThroughDatabase reads every row as text: in the files, Postgres packs long values.
func lookThroughDatabase(address, whose string, more ...spelling) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer db.Close()
	clusterFolder.Lock()
	err = db.QueryRow("select setting from pg_settings where name = 'data_directory'").Scan(&clusterFolder.path)
	clusterFolder.Unlock()
	if err != nil && !errors.Is(err, sql.ErrNoRows) { // which is what a role without rights sees
		return err
	}
	tables, err := column(db, "select quote_ident(tablename) from pg_tables where schemaname = 'public' order by 1")
	if err != nil {
		return err
	}
	for _, table := range tables {
		rows, err := column(db, "select t::text from "+table+" t")
		if err != nil {
			return err
		}
		watch := look("table "+table+" of "+whose, more...)
		for _, row := range rows {
			_, _ = watch.Write([]byte(row))
		}
	}
	return nil
}

func column(db *sql.DB, query string) (all []string, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, rows.Err()
}

// kept tells after all tests whether the secrets were kept, and fails the run where they were not.
func kept(code int) int {
	if clusterFolder.path != "" {
		lookThrough(filepath.Dir(clusterFolder.path), "Postgres", func(string) bool { return false })
	}
	for _, find := range leaks.lines {
		fmt.Fprintln(os.Stderr, "LEAK:", find)
	}
	if len(leaks.lines) > 0 && code == 0 {
		return 1
	}
	return code
}

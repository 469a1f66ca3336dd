package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"signoff/internal/domain"
)

// Each example of the pages is run or read here: shell blocks run in the order of their page against a server of that page, fragments of
// signoff.yaml start a server, and JSON is held against the contract. A block that cannot be run has `<!-- not run: why -->` above it, and
// stands in the list of exceptions.

// example is a fenced block of a page.
type example struct {
	page, heading string
	line          int
	language      string
	text          string
	notRun        string // why it is skipped; empty: it is run
	isOutput      bool   // JSON right behind a shell block: what its last command prints
}

// namesPlaces reports whether the example names folders of an operator: [TestTheEnvironmentsOfThePagesAreRead] has a machine with them.
func (e example) namesPlaces() bool {
	return strings.Contains(e.text, "environments:") || strings.Contains(e.text, "networks:") || strings.Contains(e.text, "workspaces:")
}

func (e example) place() string { return fmt.Sprintf("%s:%d", e.page, e.line) }

var (
	notRun     = regexp.MustCompile(`^<!-- not run(?: here)?: (.+) -->$`)
	looksShell = regexp.MustCompile(`^    (curl|post|get|signoff|bin/signoff|make|npm|ssh|cd|docker|kubectl)\b`)
)

// examples are the fenced blocks of a page, in their order.
func examples(t *testing.T, page string) (all []example) {
	t.Helper()
	var open *example
	heading, before, paragraph, shell := "", "", "", false
	for i, line := range strings.Split(readPage(t, page), "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case open != nil && fence:
			all, shell = append(all, *open), open.language == "sh"
			open = nil
		case open != nil:
			open.text += line + "\n"
		case fence:
			open = &example{page: page, heading: heading, line: i + 1, language: language, isOutput: shell && language == "json"}
			if found := notRun.FindStringSubmatch(before); found != nil {
				open.notRun = found[1]
			}
			shell = false
		case strings.HasPrefix(line, "#"):
			heading = line
		case paragraph == "" && looksShell.MatchString(line):
			t.Errorf("%s:%d: fence this command as sh, so that it is run", page, i+1)
		}
		shell = shell && (fence || line == "")
		paragraph = line
		if line != "" {
			before = line
		}
	}
	return all
}

func readPage(t *testing.T, page string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../..", page))
	must(t, err)
	return string(content)
}

// pages are those that people read.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("../../docs/*.md")
	must(t, err)
	all := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md", "clients/typescript/README.md"}
	for _, name := range found {
		all = append(all, "docs/"+filepath.Base(name))
	}
	return all
}

// commandsOf are the commands of a shell block, one string each.
func commandsOf(t *testing.T, block string) (commands []string) {
	t.Helper()
	parsed, err := syntax.NewParser().Parse(strings.NewReader(block), "")
	if err != nil {
		t.Fatalf("this is no shell: %v\n%s", err, block)
	}
	for _, statement := range parsed.Stmts {
		commands = append(commands, block[statement.Pos().Offset():statement.End().Offset()])
	}
	return commands
}

// walk is what a page needs beside a server: what there is before its commands, and what their output must be. A step belongs to the
// commands that contain its key, and a block that is run as a whole to the section of its key.
type walk struct {
	config func(w *walker) // before the server starts
	begin  func(w *walker) // before the first command
	before steps[func(w *walker)]
	after  steps[func(w *walker, output string)]
	whole  steps[func(w *walker, e example)]
}

type steps[Step any] map[string]Step

// walker follows a page as a newcomer does.
type walker struct {
	*server
	walk    walk
	names   map[string]string // what stands for a name of the page, such as EXECUTION_ID
	defined string            // functions and variables of earlier blocks
	output  string            // of the last command
	taken   map[string]bool   // steps

	sha256     string        // of the export
	generation string        // the execution that has written blocks
	delivered  chan received // to the webhook
}

// exceptions are the sections with a shell block that nobody runs. The page says why, in a comment above the block.
var exceptions = []string{
	"CONTRIBUTING.md ## Build and test",
	"README.md ## Claude Code, Gemini CLI, Codex, OpenCode",
	"README.md ## First minute",
	"clients/typescript/README.md ## Install",
	"clients/typescript/README.md ### The example",
	"deploy/README.md ## Order",
	"docs/console.md ### From a phone, or another machine",
	"docs/mcp.md ## Signing in",
	"docs/mcp.md ### Install programs, or have them downloaded",
	"docs/mcp.md ### Install programs, or have them downloaded",
	"docs/mcp.md ### Install programs, or have them downloaded",
	"docs/performance.md # Performance",
	"docs/reliability.md ## The campaign",
}

// elsewhere are the sections whose commands other tests run: [TestTheReadmeWorks], which decides before it follows, and [TestSeed001], whose server has
// the profiles of the page.
var elsewhere = []string{"README.md ## Three calls", "README.md ## What an agent may do", delegationPage + " " + specialists}

// environmentsPage names files and hosts of an operator. Its examples run on a machine that has them: see [TestTheWorkedExamplesWork].
const environmentsPage = "docs/environments.md"

var (
	creation    = regexp.MustCompile(`^(?:curl -sS \$SIGNOFF_URL|post )/executions(?:\s|$)`)
	placeholder = regexp.MustCompile(`(?:^|[^$\w{])([A-Z]+_ID)\b`)
	definition  = regexp.MustCompile(`^(\w+\(\) \{|export )`)
)

// TestThePagesWork runs the shell blocks of all pages.
func TestThePagesWork(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			var w *walker
			for _, e := range examples(t, page) {
				switch {
				case e.language != "sh" && !e.isOutput && walks[page].whole[e.heading] == nil:
				case slices.Contains(elsewhere, page+" "+e.heading) || page == environmentsPage:
				case e.notRun != "":
					t.Logf("%s is not run: %s", e.place(), e.notRun)
				default:
					if w == nil {
						w = newWalker(t, walks[page])
					}
					w.follow(e)
				}
			}
			if w != nil {
				w.leave()
			}
		})
	}
	for page := range walks {
		if !slices.Contains(pages(t), page) {
			t.Errorf("there is no page %s", page)
		}
	}
}

// TestTheExceptionsAreListed: nobody takes a block out of the tests by a comment in a page alone.
func TestTheExceptionsAreListed(t *testing.T) {
	t.Parallel()
	var marked []string
	for _, page := range pages(t) {
		for _, e := range examples(t, page) {
			if e.notRun != "" {
				marked = append(marked, page+" "+e.heading)
			}
		}
	}
	slices.Sort(marked)
	if diff := cmp.Diff(exceptions, marked); diff != "" {
		t.Errorf("the list of exceptions (-) and the pages (+) differ:\n%s", diff)
	}
}

// newWalker starts the first server in an empty folder, as the README says.
func newWalker(t *testing.T, through walk) *walker {
	t.Helper()
	s := newServer(t, engine{}, newModel(t, quiet))
	must(t, os.RemoveAll(s.data()))
	must(t, os.Remove(filepath.Join(s.home, "signoff.yaml")))
	w := &walker{server: s, walk: through, names: map[string]string{}, taken: map[string]bool{}}
	s.env = []string{"PATH=" + w.programs(), "HOME=" + s.home, "SIGNOFF_ADDR=" + freeAddress(t), "SIGNOFF_LOG_LEVEL=warn"}
	if through.config != nil {
		through.config(w)
	}
	s.start()
	if through.begin != nil {
		through.begin(w)
	}
	return w
}

// freeAddress is an address of the loopback at which nobody listens at the moment.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// programs puts some before those of the machine: a curl that fails where the server refuses, and a browser that prints what it opens.
func (w *walker) programs() (path string) {
	w.t.Helper()
	curl, err := exec.LookPath("curl")
	must(w.t, err)
	folder := filepath.Join(w.home, "programs")
	must(w.t, os.MkdirAll(folder, 0o755))
	for name, script := range map[string]string{
		"curl": "exec " + curl + ` --fail-with-body --max-time 60 "$@"`, "xdg-open": `printf %s "$1"`,
	} {
		must(w.t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	must(w.t, os.Symlink(binary, filepath.Join(folder, "signoff")))
	must(w.t, os.Symlink(folder, filepath.Join(w.home, "bin"))) // where make build leaves it
	return folder + ":" + os.Getenv("PATH")
}

// follow runs a block, or compares it with the output of the one before.
func (w *walker) follow(e example) {
	w.t.Helper()
	if run, is := w.walk.whole[e.heading]; is {
		w.taken[e.heading] = true
		run(w, e)
		return
	}
	if e.isOutput {
		w.printed(e)
		return
	}
	for _, command := range commandsOf(w.t, e.text) {
		if definition.MatchString(command) {
			w.defined += command + "\n"
			continue
		}
		for _, part := range w.due(w.walk.before.keys(), command) {
			w.walk.before[part](w)
		}
		w.rest()
		w.output = w.run(e, command)
		var created execution
		if creation.MatchString(command) && json.Unmarshal([]byte(w.output), &created) == nil {
			w.names["EXECUTION_ID"] = created.ID
		}
		if strings.Contains(command, "$SIGNOFF_URL/files?") && json.Unmarshal([]byte(w.output), &created) == nil {
			w.names["FILE_ID"] = created.ID
		}
		for _, part := range w.due(w.walk.after.keys(), command) {
			w.walk.after[part](w, w.output)
		}
	}
}

func (s steps[Step]) keys() []string { return slices.Sorted(maps.Keys(s)) }

// due are the steps of a command.
func (w *walker) due(parts []string, command string) (due []string) {
	for _, part := range parts {
		if strings.Contains(command, part) {
			w.taken[part] = true
			due = append(due, part)
		}
	}
	return due
}

// run runs a command with the names replaced.
func (w *walker) run(e example, command string) (output string) {
	w.t.Helper()
	command = w.named(command)
	if open := placeholder.FindStringSubmatch(command); open != nil {
		w.t.Fatalf("%s: nothing before it says what %s is: %s", e.place(), open[1], command)
	}
	var out, errOut bytes.Buffer
	run := exec.CommandContext(w.t.Context(), "bash", "-c", "set -e -o pipefail\n"+w.defined+command)
	run.Dir, run.Stdout, run.Stderr = w.home, &out, &errOut
	run.Env = append(slices.Clone(w.env), "SIGNOFF_URL="+w.Base, "SIGNOFF_TOKEN="+w.Token)
	if err := run.Run(); err != nil {
		w.t.Fatalf("%s: %s\n%v: %s%s", e.place(), command, err, errOut.String(), out.String())
	}
	return out.String()
}

// named replaces the names of a page. It does so in one pass: the id of a call may begin like the name of another, as call_2mjef6… does.
func (w *walker) named(command string) string {
	var pairs []string
	for name, value := range w.names {
		pairs = append(pairs, name, value)
	}
	return strings.NewReplacer(pairs...).Replace(command)
}

// rest waits until the newest execution waits for somebody or has ended, as a reader does before the next command.
func (w *walker) rest() {
	w.t.Helper()
	id := w.names["EXECUTION_ID"]
	if id == "" {
		return
	}
	w.eventually("rest", func() bool {
		shown := want[showing](w.client, http.StatusOK, "GET", "/executions/"+id, nil)
		switch status := domain.Status(shown.Status); status {
		case domain.StatusIdle, domain.StatusInterrupted, domain.StatusPendingToolApproval:
			return true
		default:
			return status.Terminal() || len(shown.PendingToolCalls) > 0
		}
	})
}

// printed holds the last output against the one that the page shows. The page may leave fields out, and says … for values that differ.
func (w *walker) printed(e example) {
	w.t.Helper()
	shown := regexp.MustCompile(`,\s*…`).ReplaceAllString(e.text, "")
	var wanted, got any
	if err := json.Unmarshal([]byte(shown), &wanted); err != nil {
		w.t.Errorf("%s: %v", e.place(), err)
		return
	}
	must(w.t, json.Unmarshal([]byte(w.output), &got))
	if place := missing(wanted, got); place != "" {
		w.t.Errorf("%s: the answer differs at %s: %s", e.place(), place, w.output)
	}
}

// missing names the first place of a document that a shown one does not agree with.
func missing(shown, real any) (place string) {
	switch s := shown.(type) {
	case map[string]any:
		r, is := real.(map[string]any)
		for name, value := range s {
			if !is {
				return "/"
			}
			if place := missing(value, r[name]); place != "" {
				return "/" + name + place
			}
		}
		return ""
	case []any:
		r, is := real.([]any)
		if !is || len(r) != len(s) {
			return "/"
		}
		for i, value := range s {
			if place := missing(value, r[i]); place != "" {
				return fmt.Sprintf("/%d%s", i, place)
			}
		}
		return ""
	default:
		if shown == "…" && real != nil || shown == real {
			return ""
		}
		return "/"
	}
}

// leave ends the executions, holds their logs against the invariants, and fails where a step was never taken.
func (w *walker) leave() {
	w.t.Helper()
	for _, e := range want[list[execution]](w.client, http.StatusOK, "GET", "/executions?limit=100", nil).Items {
		if !domain.Status(e.Status).Terminal() {
			w.cancelled(e.ID, object{})
		}
		w.sound(e.ID)
	}
	for _, step := range slices.Concat(w.walk.before.keys(), w.walk.after.keys(), w.walk.whole.keys()) {
		if !w.taken[step] {
			w.t.Errorf("the page has nothing for the step %q", step)
		}
	}
}

// TestTheConfigurationsOfThePagesAreRead starts a server with each fragment of signoff.yaml.
func TestTheConfigurationsOfThePagesAreRead(t *testing.T) {
	t.Parallel()
	fragments := 0
	for _, page := range pages(t) {
		for _, e := range examples(t, page) {
			if e.language != "yaml" || e.namesPlaces() || e.notRun != "" {
				continue
			}
			fragments++
			t.Run(e.place(), func(t *testing.T) {
				t.Parallel()
				s := newServer(t, engine{}, newModel(t, quiet))
				if !strings.Contains(e.text, "models:") && !strings.Contains(e.text, "agents:") {
					e.text += "models: {demo: {provider: demo}}\n"
				}
				must(t, os.WriteFile(filepath.Join(s.home, "signoff.yaml"), []byte(e.text), 0o600))
				s.start()
				want[object](s.client, http.StatusOK, "GET", "/settings", nil)
			})
		}
	}
	if fragments < 10 {
		t.Errorf("only %d fragments were found", fragments)
	}
}

// bodies says which request a JSON example is the body of, or a part of. The others are the output of a command, or held against something else.
var bodies = map[string]string{
	"docs/agents.md ## Options: model, thinking, and the like": "/executions /executions/{id}/prompts",
	"docs/environments.md ## Requests":                         "/executions",
	"docs/files.md # Pictures and files in prompts":            "/executions",
	"docs/mcp.md ### Rules":                                    "/permission-rules",
	"docs/memory.md ## For agents":                             "/executions",
	"docs/policy.md ## The bash policy":                        "/executions",
	"docs/policy.md ### An example that looks around":          "", // test/house.TestTheExamplePolicyDoesWhatItsPageSays
	"docs/workspaces.md # Own folders of executions":           "/executions",
	"docs/errors.md # Errors":                                  "problem",
}

// TestTheJSONOfThePagesFitsTheContract holds the JSON examples against the schemas of api/openapi.yaml.
func TestTheJSONOfThePagesFitsTheContract(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("../../api/openapi.yaml")
	must(t, err)
	counted := map[string]int{}
	for _, page := range pages(t) {
		for _, e := range examples(t, page) {
			if e.language != "json" || e.isOutput {
				continue
			}
			key := page + " " + e.heading
			paths, known := bodies[key]
			if !known {
				t.Errorf("%s: the table says nothing of this JSON", e.place())
				continue
			}
			var shown any
			if err := json.Unmarshal([]byte(e.text), &shown); err != nil {
				t.Errorf("%s: %v", e.place(), err)
				continue
			}
			if each := strings.Fields(paths); len(each) > 0 {
				checkJSON(t, document, e, each[min(counted[key], len(each)-1)], shown)
			}
			counted[key]++
		}
	}
	for key := range bodies {
		if counted[key] == 0 {
			t.Errorf("there is no JSON in %s", key)
		}
	}
}

func checkJSON(t *testing.T, document *openapi3.T, e example, of string, shown any) {
	t.Helper()
	if of == "problem" { // its texts are left out
		for name := range shown.(map[string]any) { //nolint:forcetypeassert // or the test fails all the same
			if document.Components.Schemas["Problem"].Value.Properties[name] == nil {
				t.Errorf("%s: a problem has no %s", e.place(), name)
			}
		}
		return
	}
	if fields, is := shown.(map[string]any); is && of == "/executions" && fields["source"] == nil {
		fields["source"], fields["prompt"] = map[string]any{"type": "internal"}, "x"
	}
	schema := document.Paths.Value(of).Post.RequestBody.Value.Content.Get("application/json").Schema.Value
	if err := schema.VisitJSON(shown); err != nil {
		t.Errorf("%s: %v", e.place(), err)
	}
}

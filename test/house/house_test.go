// Package house keeps what no compiler keeps: the arrows between packages, and that the documents say what the code does.
//
// Everything is read from the files of the repository; nothing is built and nothing is started. A rule here has a reason
// beside it, and an exception stands in the rule with its own.
package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "signoff/"
)

// files lists the files of the repository, with forward slashes, relative to its root: what git knows or would add,
// and where there is no git, what is there.
func files(t *testing.T) []string {
	t.Helper()
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	command.Dir = root
	if listed, err := command.Output(); err == nil {
		var all []string
		for name := range strings.Lines(string(listed)) {
			name = strings.TrimSuffix(name, "\n")
			if info, err := os.Stat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
				all = append(all, name)
			}
		}
		return all
	}
	var all []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "data", "node_modules"}, entry.Name()) {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() {
			relative, err := filepath.Rel(root, name)
			all = append(all, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func parse(t *testing.T, name string, mode parser.Mode) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, mode)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func goFiles(t *testing.T) []string {
	t.Helper()
	all := slices.DeleteFunc(files(t), func(name string) bool { return path.Ext(name) != ".go" })
	if len(all) < 100 {
		t.Fatalf("only %d Go files were found; the test looks in the wrong place", len(all))
	}
	return all
}

// below tells whether a file or package is folder or lies in it.
func below(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return name == folder || strings.HasPrefix(name, folder+"/")
	})
}

// arrow forbids imports. It counts for files that from holds, and forbids what to holds.
type arrow struct {
	name  string
	from  func(file string) bool
	to    func(imported string) bool
	tests bool // tests have to keep it, too
}

func in(folders ...string) func(string) bool {
	return func(name string) bool { return below(name, folders...) }
}

func notIn(folders ...string) func(string) bool {
	return func(name string) bool { return !below(name, folders...) }
}

// ours is in with the module's name before each folder.
func ours(folders ...string) func(string) bool {
	full := make([]string, len(folders))
	for i, folder := range folders {
		full[i] = module + folder
	}
	return in(full...)
}

func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".") && first != strings.TrimSuffix(module, "/")
}

var arrows = []arrow{
	{"the domain imports the standard library only", in("internal/domain"),
		func(imported string) bool { return !standard(imported) }, false},
	{"acp, llm and tools meet the session in domain, so that the state machine is tested without them",
		in("internal/acp", "internal/llm", "internal/tools"), ours("internal/dispatch", "internal/sessions", "internal/http", "internal/store"), true},
	{"a session does not know who is behind domain.Agent", in("internal/sessions", "internal/approvals", "internal/events"),
		ours("internal/acp", "internal/llm", "internal/http"), true},
	{"a session tells its dispatcher how it gets on, and does not know who that is", in("internal/sessions"), ours("internal/dispatch"), false},
	{"the store knows the domain and its migrations", in("internal/store"),
		func(imported string) bool {
			return strings.HasPrefix(imported, module) && !ours("internal/domain", "internal/failpoint", "internal/store", "migrations")(imported)
		}, false},
	{"what foreign schemas and blocks are is known to everybody, so it knows nobody", in("internal/regex", "internal/schema", "internal/runbooks"),
		func(imported string) bool {
			return strings.HasPrefix(imported, module) && !ours("internal/domain", "internal/regex", "internal/schema", "internal/runbooks")(imported)
		}, false},
	{"admission treats requests of every front alike and starts nothing", in("internal/admission"),
		ours("internal/http", "internal/dispatch", "internal/sessions", "internal/acp", "internal/llm", "internal/sandbox", "internal/tools"), true},
	{"whoever gives files to an agent goes through one package, which knows nobody", in("internal/workspace"),
		func(imported string) bool {
			return strings.HasPrefix(imported, module) && !ours("internal/domain", "internal/failpoint", "internal/workspace")(imported)
		}, false},
	{"the console is files, which know nothing of the server", in("internal/console"),
		func(imported string) bool { return !standard(imported) }, true},
	{"HTTP asks sessions, approvals and the log, never what they are made of", in("internal/http"),
		ours("internal/acp", "internal/llm", "internal/sandbox", "internal/tools"), false},
	{"what confines commands is handed to sessions as a value", in("internal/sandbox"),
		ours("internal/sessions", "internal/http", "internal/store", "internal/llm"), true},
	{"only the store talks to databases, and who spoils one in a test of the whole", notIn("internal/store", "test/e2e"),
		in("github.com/jackc/pgx", "modernc.org/sqlite", "github.com/golang-migrate/migrate", "database/sql"), true},
	{"a provider is one folder, and so is what it is made of", notIn("internal/llm/openai"), in("github.com/openai/openai-go"), true},
	{"a provider knows the contract, and neither the agent nor another provider",
		func(file string) bool {
			return below(file, "internal/llm") && !below(file, "internal/llm/mcptools") && strings.Count(file, "/") > 2 && !strings.Contains(file, "test/")
		},
		func(imported string) bool {
			return strings.HasPrefix(imported, module) &&
				!ours("internal/domain", "internal/tools", "internal/runbooks", "internal/llm/provider")(imported)
		}, false},
	{"the tools of MCP servers know neither the agent nor a provider", in("internal/llm/mcptools"),
		func(imported string) bool {
			return strings.HasPrefix(imported, module) &&
				!ours("internal/domain", "internal/tools", "internal/schema", "internal/mcp", "internal/llm/mcptools")(imported)
		}, false},
	{"only acp speaks ACP", notIn("internal/acp"), in("github.com/coder/acp-go-sdk"), true},
	{"the connection to an agent and its settings know no agent", in("internal/acp/wire", "internal/acp/settings"),
		func(imported string) bool {
			return strings.HasPrefix(imported, module) && !ours("internal/domain", "internal/acp/wire")(imported)
		}, false},
	{"only mcp speaks MCP", notIn("internal/mcp", "test/mcp", "test/e2e"), in("github.com/modelcontextprotocol/go-sdk"), true},
	{"the transports to MCP servers know no configuration", in("internal/mcp/wire"),
		func(imported string) bool {
			return strings.HasPrefix(imported, module) && !ours("internal/domain", "internal/egress")(imported)
		}, false},
	{"what the configuration starts is known without knowing who starts it",
		func(file string) bool {
			return below(file, "internal/launch") || below(file, "internal/mcp") && strings.Count(file, "/") == 2
		},
		func(imported string) bool {
			return strings.HasPrefix(imported, module) && !ours("internal/domain", "internal/launch", "internal/egress", "internal/failpoint", "internal/jcs", "internal/schema", "internal/mcp/wire")(imported)
		}, false},
	{"checkpoints know the folders and those who write there, not the execution that they belong to", in("internal/checkpoints"),
		func(imported string) bool {
			return strings.HasPrefix(imported, module) &&
				!ours("internal/domain", "internal/failpoint", "internal/diff", "internal/checkpoints", "internal/workspace/checkpoint")(imported)
		}, false},
	{"a comparison of two texts knows nothing about where they come from", in("internal/diff"),
		func(imported string) bool { return !standard(imported) }, false},
	{"only runbooks/template renders: it gives templates a budget and shares the memory out", notIn("internal/runbooks/template"),
		ours("internal/runbooks/template/jinja"), true},
	{"a failpoint is a line anywhere, so it knows nobody", in("internal/failpoint"),
		func(imported string) bool { return !standard(imported) }, true},
	{"only cmd/server reads the configuration", notIn("cmd/server"), in("github.com/kelseyhightower/envconfig"), true},
	{"cmd/server is the end of all arrows", notIn("cmd/server"), ours("cmd/server"), true},
}

func TestArrows(t *testing.T) {
	for _, name := range goFiles(t) {
		for _, spec := range parse(t, name, parser.ImportsOnly).Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range arrows {
				if (a.tests || !strings.HasSuffix(name, "_test.go")) && a.from(name) && a.to(imported) {
					t.Errorf("%s imports %s: %s", name, imported, a.name)
				}
			}
		}
	}
}

// readsEnvironment tells who may: the server; helpers of tests, which find their Postgres and git, and start programs; and the
// sandbox's last stage, which hands on the environment that was composed for the command.
var readsEnvironment = []string{
	"cmd/server", "internal/store/storetest", "internal/workspace/checkpoint/checkpointtest", "internal/sandbox/confine_linux.go", "test", "bench", "scripts",
}

func TestOnlyTheServerReadsTheEnvironment(t *testing.T) {
	for _, name := range goFiles(t) {
		if strings.HasSuffix(name, "_test.go") || below(name, readsEnvironment...) {
			continue
		}
		ast.Inspect(parse(t, name, parser.SkipObjectResolution), func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, ok := selector.X.(*ast.Ident)
			if ok && (of.Name == "os" || of.Name == "syscall") &&
				slices.Contains([]string{"Getenv", "LookupEnv", "Environ", "ExpandEnv"}, selector.Sel.Name) {
				t.Errorf("%s calls %s.%s: the environment is read in cmd/server and handed on as values", name, of.Name, selector.Sel.Name)
			}
			return true
		})
	}
}

// namedForNothing are names under which everything ends up.
var namedForNothing = []string{
	"util", "utils", "helper", "helpers", "common", "manager", "misc", "shared", "base", "lib",
}

func TestPackagesAreNamedAndExplained(t *testing.T) {
	explained := map[string]bool{}
	for _, name := range goFiles(t) {
		file := parse(t, name, parser.ParseComments|parser.PackageClauseOnly)
		folder := path.Dir(name)
		for _, word := range []string{strings.TrimSuffix(file.Name.Name, "_test"), path.Base(folder)} {
			if slices.Contains(namedForNothing, word) {
				t.Errorf("%s is in a package named %s; say what it is about", name, word)
			}
		}
		said := file.Doc != nil && len(strings.Fields(file.Doc.Text())) >= 5 && !ast.IsGenerated(file)
		explained[folder] = explained[folder] || said
	}
	for folder, is := range explained {
		if !is {
			t.Errorf("package %s has no comment that explains it", folder)
		}
	}
}

// Hosts and paths are put together from pieces, or this file would find itself.
var registryHosts = []string{
	"npmjs" + ".org", "npmjs" + ".com", "yarnpkg" + ".com", "proxy" + ".golang.org", "sum" + ".golang.org", "goproxy" + ".",
	"pypi" + ".org", "pythonhosted" + ".org", "crates" + ".io", "rubygems" + ".org", "maven" + ".org", "maven" + ".apache.org",
	"jsr" + ".io", "deb" + ".debian.org", "archive" + ".ubuntu.com", "artifactory" + ".", "jfrog" + ".io", `"resolved"` + `:`,
}

// somewhere are the folders that a developer's own path begins with.
var somewhere = []string{"/work" + "/", "/root" + "/", "/home" + "/", "/Users" + "/"}

// notSomebodys are paths and hosts that are about no developer's machine.
var notSomebodys = map[string][]string{
	"docs/mcp.md":                            {"[registry.npmjs" + ".org]", "[pypi" + ".org, files.pythonhosted" + ".org]"}, // what npx and uvx have to reach
	"Dockerfile":                             {"target=/root" + "/.cache/go-build"},                                         // inside the image that builds
	"internal/sandbox/escapes_linux_test.go": {"/home" + "/x;", `"/root` + `/.bashrc"`},                                     // must not be reached
}

func TestNothingNamesAMachineOrARegistry(t *testing.T) {
	for _, name := range files(t) {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(content, 0) >= 0 {
			continue // no text
		}
		text := string(content)
		for _, allowed := range notSomebodys[name] {
			text = strings.ReplaceAll(text, allowed, "")
		}
		number := 0
		for line := range strings.Lines(text) {
			number++
			for _, host := range registryHosts {
				if strings.Contains(line, host) {
					t.Errorf("%s:%d names a package registry, %s", name, number, host)
				}
			}
			for _, folder := range somewhere {
				if names(line, folder) {
					t.Errorf("%s:%d names a path of somebody's machine, %s…", name, number, folder)
				}
			}
		}
	}
}

// names tells whether line has a path that begins with folder and goes on. One that only contains it, or a URL, is
// another matter.
func names(line, folder string) bool {
	for at := 0; ; {
		next := strings.Index(line[at:], folder)
		if next < 0 {
			return false
		}
		at += next
		end := at + len(folder)
		if (at == 0 || !partOfPath(line[at-1])) && end < len(line) && partOfPath(line[end]) {
			return true
		}
		at = end
	}
}

func partOfPath(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_-.}", c) >= 0
}

// A test that writes beside its sources would leave a database in the repository, and in every image that is built from it.
func TestNoDatabasesAndNoBinaries(t *testing.T) {
	for _, name := range files(t) {
		if ext := filepath.Ext(name); ext == ".png" || ext == ".ico" || ext == ".woff2" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0 {
			t.Errorf("%s is no text; is it built, or left behind by a test?", name)
		}
	}
}

package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// call runs a tool the way that the loop does it: what Check refuses is not run.
func call(t testing.TB, tool tools.Tool, host domain.Host, arguments any) tools.Result {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tool.Check(raw, "/srv"); err != nil {
		failure := domain.FailureOf(err)
		return tools.Result{Output: failure.Message, Failure: &failure}
	}
	return tool.Run(t.Context(), host, domain.ToolCall{Arguments: raw})
}

type arguments map[string]any

func code(result tools.Result) domain.Code {
	if result.Failure == nil {
		return ""
	}
	return result.Failure.Code
}

func TestFileToolsRefuseBrokenArguments(t *testing.T) {
	long := strings.Repeat("x", 5000)
	huge := strings.Repeat("x", 1<<20+1)
	for _, test := range []struct {
		tool      tools.Tool
		arguments string
		want      string
	}{
		{tools.List{}, `{"path":"` + long + `"}`, "at most 4096"},
		{tools.List{}, `{"depth":6}`, "from 1 to 5"},
		{tools.List{}, `{"depth":0}`, "from 1 to 5"},
		{tools.List{}, `{"pattern":"[a"}`, "no glob pattern"},
		{tools.List{}, `{"pattern":"{a,b}{a,b}{a,b}"}`, "at most 2 braces"},
		{tools.List{}, `{"pattern":"**/**/**/**/**"}`, "4 double stars"},
		{tools.List{}, `{"pattern":"` + long + `"}`, "at most 200"},
		{tools.Search{}, `{"pattern":"a","maxResults":1001}`, "from 1 to 1000"},
		{tools.Search{}, `{"pattern":"a","contextLines":-1}`, "from 0 to 5"},
		{tools.Search{}, `{"pattern":"a","ignoreCase":"yes"}`, "true or false"},
		{tools.Search{}, `{"pattern":"a","glob":"{"}`, "no glob pattern"},
		{tools.Search{}, `{"pattern":"é[b-a]"}`, "invalid character class range at character 3, `b-a`"},
		{tools.Search{}, `{"pattern":"foo("}`, "missing closing ) at character 1, `foo(`"},
		{tools.Search{}, `{"pattern":"x(?=y)"}`, "invalid or unsupported Perl syntax at character 2, `(?=`"},
		{tools.Search{}, `{"pattern":"((a{100}){100}){100}"}`, "no regular expression"},
		{tools.Search{}, `{"pattern":"` + strings.Repeat("a{0,1000}", 20) + `"}`, "more than 5000 steps"},
		{tools.Search{}, `{"pattern":"(abc|[d-z]{20}){45,}(?:(abc){20}){49}"}`, "more than 5000 steps"},
		{tools.Search{}, `{"pattern":"a","glob":"/src/*.go"}`, "leave the slash out"},
		{tools.Search{}, `{"pattern":"a","glob":"./src/"}`, "write src/**"},
		{tools.List{}, `{"pattern":"src/"}`, "write src/**"},
		{tools.Edit{}, `{"path":"a","oldText":"b"}`, `"newText" must be a string`},
		{tools.Edit{}, `{"path":"a","oldText":"b","newText":null}`, `"newText" must be a string`},
		{tools.Edit{}, `{"path":"a","oldText":7,"newText":"c"}`, `"oldText" must be a string`},
		{tools.Edit{}, `{"path":"a","oldText":"","newText":"c"}`, "use write"},
		{tools.Edit{}, `{"path":"a","oldText":"b","newText":"b"}`, "nothing would change"},
		{tools.Edit{}, `{"path":"a","oldText":"b","newText":"\u0000"}`, "NUL"},
		{tools.Edit{}, `{"path":"a","oldText":"b","newText":"c","replaceAll":1}`, "true or false"},
		{tools.Write{}, `{"path":"a"}`, `"content" must be a string`},
		{tools.Write{}, `{"path":"a","content":"` + huge + `"}`, "at most 1048576"},
		{tools.Patch{}, `{"patch":"` + huge + `"}`, "at most 1048576"},
	} {
		name := test.tool.Definition().Name
		intent, err := test.tool.Check([]byte(test.arguments), "/srv")
		if domain.CodeOf(err) != domain.CodeInvalidArguments || !strings.Contains(domain.FailureOf(err).Message, test.want) {
			t.Errorf("%s %.80s: %v, want %q", name, test.arguments, err, test.want)
		}
		if intent.Summary != "" || intent.Action.Paths != nil {
			t.Errorf("%s %.80s: %+v", name, test.arguments, intent)
		}
		host := &hosttest.Host{Tree: map[string]string{"a": "b"}}
		result := test.tool.Run(t.Context(), host, domain.ToolCall{Arguments: []byte(test.arguments)})
		if code(result) != domain.CodeInvalidArguments {
			t.Errorf("%s %.80s runs: %+v", name, test.arguments, result)
		}
	}
}

func TestFileToolsStayInTheWorkspace(t *testing.T) {
	patch := func(path string) string {
		return "--- " + path + "\n+++ " + path + "\n@@ -1 +1 @@\n-a\n+b\n"
	}
	for _, path := range []string{"../a", "/etc/passwd", "x/../../a", "/srv-evil/a", "/srv/../a", ".."} {
		host := &hosttest.Host{Dir: "/srv", Tree: map[string]string{"a": "a\n"}}
		for name, result := range map[string]tools.Result{
			"list":   call(t, tools.List{}, host, arguments{"path": path}),
			"search": call(t, tools.Search{}, host, arguments{"path": path, "pattern": "a"}),
			"edit":   call(t, tools.Edit{}, host, arguments{"path": path, "oldText": "a", "newText": "b"}),
			"write":  call(t, tools.Write{}, host, arguments{"path": path, "content": "b"}),
			"patch":  call(t, tools.Patch{}, host, arguments{"patch": patch(path)}),
			"create": call(t, tools.Patch{}, host, arguments{"patch": "--- /dev/null\n+++ " + path + "\n@@ -0,0 +1 @@\n+b\n"}),
		} {
			if code(result) != domain.CodePathOutsideWorkspace {
				t.Errorf("%s %s: %+v", name, path, result)
			}
		}
		if content, _ := host.Content("a"); content != "a\n" {
			t.Errorf("%s changes the file to %q", path, content)
		}
	}
	for _, path := range []string{"..%2fa", "...", "a./b", ".. /a"} { // odd, but inside
		host := &hosttest.Host{Tree: map[string]string{}}
		if result := call(t, tools.Write{}, host, arguments{"path": path, "content": "b"}); result.Failure != nil {
			t.Errorf("%s: %+v", path, result.Failure)
		}
	}
}

func TestFileToolIntents(t *testing.T) {
	for _, test := range []struct {
		tool      tools.Tool
		arguments arguments
		summary   string
		paths     []string
	}{
		{tools.List{}, arguments{}, "List `.` in /srv/x", []string{"/srv/x"}},
		{tools.List{}, arguments{"path": "../y", "pattern": "*\u202e.go"}, "List what fits `*⟨U+202E⟩.go` below `../y` in /srv/x", []string{"/srv/y"}},
		{tools.Search{}, arguments{"pattern": "a`b", "path": "logs"}, "Search `logs` in /srv/x for ``a`b``", []string{"/srv/x/logs"}},
		{tools.Edit{}, arguments{"path": "/etc/x", "oldText": "a\nb", "newText": "c"}, "Replace `a⏎b` by `c` in `/etc/x` in /srv/x", []string{"/etc/x"}},
		{tools.Edit{}, arguments{"path": "a", "oldText": "a", "newText": "", "replaceAll": true}, "Remove `a` everywhere in `a` in /srv/x", []string{"/srv/x/a"}},
		{tools.Write{}, arguments{"path": "a\u200b", "content": "one\ntwo"}, "Write 2 lines, 7 bytes to `a⟨U+200B⟩` in /srv/x: `one⏎two`", []string{"/srv/x/a\u200b"}},
		{tools.Patch{}, arguments{"patch": "--- a/m.go\n+++ b/m.go\n@@ -1,2 +1,3 @@\n x\n-a\n+b\n+c\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n--- a/../o\n+++ /dev/null\n@@ -1 +0,0 @@\n-o\n"},
			"Patch 3 files in /srv/x: edit `m.go` +2 −1, create `n` +1 −0, delete `../o` +0 −1", []string{"/srv/x/m.go", "/srv/x/n", "/srv/o"}},
	} {
		raw, err := json.Marshal(test.arguments)
		if err != nil {
			t.Fatal(err)
		}
		intent, err := test.tool.Check(raw, "/srv/x")
		if err != nil || intent.Summary != test.summary {
			t.Errorf("%s\n got %q, %v\nwant %q", raw, intent.Summary, err, test.summary)
		}
		if diff := cmp.Diff(test.paths, intent.Action.Paths); diff != "" {
			t.Errorf("%s: paths %s", raw, diff)
		}
	}
}

func someFiles() fstest.MapFS {
	return fstest.MapFS{
		"README.md":             {Data: []byte("# One\nTwo\n")},
		"src/main.go":           {Data: []byte("package main\r\n\r\nfunc main() {}\r\n")},
		"src/deep/a/b.go":       {Data: []byte("package b")},
		"src/deep/a/c.txt":      {Data: []byte("main")},
		".git/config":           {Data: []byte("main")},
		"node_modules/x/main.j": {Data: []byte("main")},
		"odd\nname":             {Data: []byte("main\x00")},
		"pipe":                  {Mode: fs.ModeNamedPipe},
		"link":                  {Mode: fs.ModeSymlink, Data: []byte("src")},
	}
}

func TestList(t *testing.T) {
	host := &hosttest.Host{Files: someFiles()}
	for _, test := range []struct {
		arguments arguments
		want      string
	}{
		{arguments{}, ".git/\nREADME.md (10 bytes)\nlink (link)\nnode_modules/\nodd⏎name (5 bytes)\npipe (special)\nsrc/\n"},
		{arguments{"path": "src"}, "src/deep/\nsrc/main.go (32 bytes)\n"},
		{arguments{"path": "src", "depth": 2}, "src/deep/\nsrc/deep/a/\nsrc/main.go (32 bytes)\n"},
		{arguments{"depth": 5, "path": ".git"}, ".git/config (4 bytes)\n"},
		{arguments{"pattern": "*.go"}, "src/deep/a/b.go (9 bytes)\nsrc/main.go (32 bytes)\n"},
		{arguments{"pattern": "./src/**/*.{go,txt}"}, "src/deep/a/b.go (9 bytes)\nsrc/deep/a/c.txt (4 bytes)\nsrc/main.go (32 bytes)\n"},
		{arguments{"pattern": "*/*.go", "path": "src/deep"}, "src/deep/a/b.go (9 bytes)\n"},
		{arguments{"pattern": "*.go", "depth": 1}, "(nothing)\n"},
		{arguments{"pattern": "main*"}, "src/main.go (32 bytes)\n"},
		{arguments{"path": "missing"}, "There is no such folder."},
	} {
		if got := call(t, tools.List{}, host, test.arguments).Output; got != test.want {
			t.Errorf("%v\n got %q\nwant %q", test.arguments, got, test.want)
		}
	}
}

func TestListIsBounded(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 1003 {
		files[fmt.Sprintf("many/%04d", i)] = &fstest.MapFile{}
	}
	result := call(t, tools.List{}, &hosttest.Host{Files: files}, arguments{"path": "many"})
	if !strings.HasSuffix(result.Output, "many/0999 (0 bytes)\n[3 more entries are left out. Use a pattern, or name a folder below.]") || !result.Truncated {
		t.Errorf("…%s, truncated %v", result.Output[len(result.Output)-100:], result.Truncated)
	}
}

// bottomless has folders in folders, without an end, and a few files in each.
type bottomless struct{ *hosttest.Host }

func (bottomless) ReadDir(context.Context, string) ([]fs.DirEntry, error) {
	files := fstest.MapFS{"d/x": {}, "e/x": {}, "f": {}, "g/x": {}}
	return fs.ReadDir(files, ".")
}

func TestWalksEnd(t *testing.T) {
	host := bottomless{&hosttest.Host{Tree: map[string]string{}}}
	result := call(t, tools.Search{}, host, arguments{"pattern": "x"})
	if !strings.Contains(result.Output, "Only the first 50000 files and folders were searched") || !result.Truncated {
		t.Errorf("got %+v", result)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tool := range []tools.Tool{tools.List{}, tools.Search{}} {
		result := tool.Run(ctx, host, domain.ToolCall{Arguments: []byte(`{"pattern":"x"}`)})
		if code(result) != domain.CodeCancelled {
			t.Errorf("%s: %+v", tool.Definition().Name, result)
		}
	}
}

// slow takes most of a minute to open a file, and may end something by then.
type slow struct {
	*hosttest.Host
	then func()
}

func (s slow) OpenFile(ctx context.Context, path string) (fs.File, error) {
	time.Sleep(40 * time.Second)
	s.then()
	return s.Host.OpenFile(ctx, path)
}

func TestSearchesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &hosttest.Host{Tree: map[string]string{"a": "here\n", "b": "here\n", "c": "here\n"}}
		result := call(t, tools.Search{}, slow{files, func() {}}, arguments{"pattern": "here"})
		want := "a:1: here\n[The search was ended after a minute: narrow it by path or glob, or use a simpler pattern.]"
		if result.Output != want || !result.Truncated || result.Failure != nil {
			t.Errorf("got %+v", result)
		}
		ctx, cancel := context.WithCancel(t.Context())
		result = tools.Search{}.Run(ctx, slow{files, cancel}, domain.ToolCall{Arguments: []byte(`{"pattern":"here"}`)})
		if code(result) != domain.CodeCancelled {
			t.Errorf("got %+v", result)
		}
	})
}

func TestSearchOfLongLines(t *testing.T) {
	long := strings.Repeat("x", 1<<20-1)
	host := &hosttest.Host{Tree: map[string]string{"a": long + "yz\nz\n"}}
	got := call(t, tools.Search{}, host, arguments{"pattern": "z"}).Output
	if want := "a:2: z\n[Of lines over 1 MiB only the beginning was searched: 1.]"; got != want {
		t.Errorf("got %q", got)
	}
	if got := call(t, tools.Search{}, host, arguments{"pattern": "x{9}y"}).Output; !strings.HasPrefix(got, "a:1: …xxx") {
		t.Errorf("got %.80q", got)
	}
}

func TestSearchPassesOverAByteOrderMark(t *testing.T) {
	host := &hosttest.Host{Tree: map[string]string{"x.cs": "\ufeffusing System;\r\n\ufeffusing\r\n"}}
	if got := call(t, tools.Search{}, host, arguments{"pattern": "^using"}).Output; got != "x.cs:1: using System;\n" {
		t.Errorf("got %q", got)
	}
}

func TestSearch(t *testing.T) {
	host := &hosttest.Host{Files: someFiles()}
	for _, test := range []struct {
		arguments arguments
		want      string
	}{
		{arguments{"pattern": "main"}, "src/deep/a/c.txt:1: main\nsrc/main.go:1: package main\nsrc/main.go:3: func main() {}\n" +
			"[Binary files left out: 1.]\n[.git and node_modules are searched only where the path names them.]"},
		{arguments{"pattern": "main$", "path": "src"}, "src/deep/a/c.txt:1: main\nsrc/main.go:1: package main\n"},
		{arguments{"pattern": "PACKAGE", "path": "src", "ignoreCase": true, "glob": "*.go"}, "src/deep/a/b.go:1: package b\nsrc/main.go:1: package main\n"},
		{arguments{"pattern": "main", "path": ".git"}, ".git/config:1: main\n"},
		{arguments{"pattern": "main", "path": "src/main.go"}, "src/main.go:1: package main\nsrc/main.go:3: func main() {}\n"},
		{arguments{"pattern": "main", "path": "src", "maxResults": 2},
			"src/deep/a/c.txt:1: main\nsrc/main.go:1: package main\n[2 matches are shown, and there are more: narrow the search by path, glob or pattern.]"},
		{arguments{"pattern": "nowhere", "path": "src"}, "No line matches.\n"},
		{arguments{"pattern": "x", "path": "missing"}, "There is no such file."},
		{arguments{"pattern": "main", "path": "odd\nname"}, "No line matches.\n[Binary files left out: 1.]"},
	} {
		if got := call(t, tools.Search{}, host, test.arguments).Output; got != test.want {
			t.Errorf("%v\n got %q\nwant %q", test.arguments, got, test.want)
		}
	}
}

func TestSearchContext(t *testing.T) {
	host := &hosttest.Host{Tree: map[string]string{"a": "1\n2\nX\n4\nX\n6\n7\n8\n9\nX", "b": "X\n\n"}}
	for lines, want := range map[int]string{
		0: "a:3: X\na:5: X\na:10: X\nb:1: X\n",
		1: "a-2- 2\na:3: X\na-4- 4\na:5: X\na-6- 6\n--\na-9- 9\na:10: X\n--\nb:1: X\nb-2- \n",
		5: "a-1- 1\na-2- 2\na:3: X\na-4- 4\na:5: X\na-6- 6\na-7- 7\na-8- 8\na-9- 9\na:10: X\n--\nb:1: X\nb-2- \n",
	} {
		if got := call(t, tools.Search{}, host, arguments{"pattern": "X", "contextLines": lines}).Output; got != want {
			t.Errorf("%d lines\n got %q\nwant %q", lines, got, want)
		}
	}
}

func TestSearchIsBounded(t *testing.T) {
	wide := strings.Repeat("é", 1000) + "needle" + strings.Repeat("z", 5000)
	host := &hosttest.Host{Tree: map[string]string{"large": strings.Repeat("needle\n", 2<<20), "wide": strings.Repeat(wide+"\n", 500)}}
	result := call(t, tools.Search{}, host, arguments{"pattern": "needle", "maxResults": 1000})
	first, rest, _ := strings.Cut(result.Output, "\n")
	if !strings.Contains(first, "needle") || len(first) > 320 || len(result.Output) > 66<<10 || !result.Truncated {
		t.Errorf("%d bytes, truncated %v: %s", len(result.Output), result.Truncated, first)
	}
	if !strings.Contains(rest, "and there are more") || !strings.Contains(rest, "Files over 10 MiB left out: 1.") {
		t.Errorf("…%s", rest[len(rest)-200:])
	}
}

func TestEdit(t *testing.T) {
	tree := map[string]string{
		"lf":     "one\ntwo\nthree\n\ttabbed\nfour\n",
		"crlf":   "one\r\ntwo\r\nthree\r\n",
		"mixed":  "one\r\ntwo\nthree\r\nfour\r\n",
		"odd":    "one\r\ntwo\nthree\n",
		"twice":  "a b a",
		"aaa":    "aaa",
		"many":   strings.Repeat("x\n", 30),
		"latin":  "caf\xe9 one\n",
		"binary": "a\x00b",
		"huge":   strings.Repeat("x", 4<<20+1),
		"empty":  "",
	}
	for _, test := range []struct {
		name      string
		arguments arguments
		content   string // afterwards; empty: as before
		output    string // in it
		code      domain.Code
	}{
		{"one line", arguments{"path": "lf", "oldText": "two", "newText": "2"}, "one\n2\nthree\n\ttabbed\nfour\n",
			"Edited lf at 1 place.\n1: one\n2: 2\n3: three\n4: \ttabbed\n5: four\n", ""},
		{"lines", arguments{"path": "lf", "oldText": "two\nthree\n", "newText": ""}, "one\n\ttabbed\nfour\n", "2: \ttabbed", ""},
		{"CRLF, one line by several", arguments{"path": "crlf", "oldText": "two", "newText": "2\n2"}, "one\r\n2\r\n2\r\nthree\r\n", "2: 2\n3: 2\n", ""},
		{"CRLF, several lines", arguments{"path": "crlf", "oldText": "one\ntwo\n", "newText": "1\n2\n"}, "1\r\n2\r\nthree\r\n", "1: 1\n", ""},
		{"CRLF as it is", arguments{"path": "crlf", "oldText": "one\r\ntwo", "newText": "1\n2"}, "1\r\n2\r\nthree\r\n", "", ""},
		{"CRLF, from the end of a line", arguments{"path": "crlf", "oldText": "\ntwo", "newText": "\n2\n2b"}, "one\r\n2\r\n2b\r\nthree\r\n", "", ""},
		{"CRLF for the most part", arguments{"path": "mixed", "oldText": "\ntwo\nthree", "newText": "\n2\n3\n4"}, "one\r\n2\r\n3\r\n4\r\nfour\r\n", "", ""},
		{"CRLF here alone", arguments{"path": "odd", "oldText": "one\ntwo", "newText": "1\n2"}, "1\r\n2\nthree\n", "", ""},
		{"LF, asked for as CRLF", arguments{"path": "lf", "oldText": "one\r\ntwo", "newText": "1\r\n2"}, "1\n2\nthree\n\ttabbed\nfour\n", "", ""},
		{"LF, one line by several", arguments{"path": "lf", "oldText": "two", "newText": "2\n2"}, "one\n2\n2\nthree\n\ttabbed\nfour\n", "", ""},
		{"all", arguments{"path": "twice", "oldText": "a", "newText": "c", "replaceAll": true}, "c b c", "at 2 places. The first:\n1: c b c\n", ""},
		{"bytes that are not text", arguments{"path": "latin", "oldText": "one", "newText": "two"}, "", "latin is not UTF-8 text", domain.CodeToolFailed},
		{"twice", arguments{"path": "twice", "oldText": "a", "newText": "c"}, "", "oldText is in twice 2 times, at the lines 1, 1.", domain.CodeToolFailed},
		{"overlapping", arguments{"path": "aaa", "oldText": "aa", "newText": "c"}, "", "2 times", domain.CodeToolFailed},
		{"often", arguments{"path": "many", "oldText": "x", "newText": "c"}, "", "30 times, at the lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …. Take in", domain.CodeToolFailed},
		{"white space", arguments{"path": "lf", "oldText": "three\n    tabbed\nfour", "newText": "c"}, "",
			`The most similar place begins at line 3. Line 4 is "\ttabbed", where oldText has "    tabbed". Only the white space differs.`, domain.CodeToolFailed},
		{"another line", arguments{"path": "lf", "oldText": "one\nzwei\nthree", "newText": "c"}, "",
			`begins at line 1. Line 2 is "two", where oldText has "zwei".`, domain.CodeToolFailed},
		{"a similar line", arguments{"path": "lf", "oldText": "one more", "newText": "c"}, "", `begins at line 1. Line 1 is `, domain.CodeToolFailed},
		{"behind the end", arguments{"path": "lf", "oldText": "four\nfive", "newText": "c"}, "", "The file ends before line 6", domain.CodeToolFailed},
		{"nothing like it", arguments{"path": "lf", "oldText": "zzz", "newText": "c"}, "", "nor anything like it", domain.CodeToolFailed},
		{"blank, not there", arguments{"path": "empty", "oldText": " \n", "newText": "c"}, "", "nor anything like it", domain.CodeToolFailed},
		{"binary", arguments{"path": "binary", "oldText": "a", "newText": "c"}, "", "binary file", domain.CodeToolFailed},
		{"huge", arguments{"path": "huge", "oldText": "a", "newText": "c"}, "", "longer than 4 MiB", domain.CodeToolFailed},
		{"grows too much", arguments{"path": "many", "oldText": "x", "newText": strings.Repeat("y", 200_000), "replaceAll": true}, "", "longer than 4 MiB", domain.CodeToolFailed},
		{"missing", arguments{"path": "missing", "oldText": "a", "newText": "c"}, "", "There is no such file.", domain.CodeToolFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			host := &hosttest.Host{Tree: tree}
			result := call(t, tools.Edit{}, host, test.arguments)
			if code(result) != test.code || !strings.Contains(result.Output, test.output) {
				t.Errorf("got %+v, want %q", result, test.output)
			}
			path := test.arguments["path"].(string)
			want := tree[path]
			if test.code == "" {
				want = test.content
			}
			if content, _ := host.Content(path); content != want {
				t.Errorf("the content is %q, want %q", content, want)
			}
		})
	}
}

// hasty changes a file between the moment when a tool reads it and the one when it writes.
type hasty struct{ *hosttest.Host }

func (h hasty) WriteFiles(ctx context.Context, changes ...domain.FileChange) error {
	if err := h.Host.WriteFiles(ctx, domain.FileChange{Path: "a", Content: []byte("theirs\n")}); err != nil {
		return err
	}
	return h.Host.WriteFiles(ctx, changes...)
}

func TestChangesOfOthersAreKept(t *testing.T) {
	for _, test := range []struct {
		tool      tools.Tool
		arguments arguments
	}{
		{tools.Edit{}, arguments{"path": "a", "oldText": "one", "newText": "ours"}},
		{tools.Patch{}, arguments{"patch": "--- b\n+++ b\n@@ -1 +1 @@\n-one\n+ours\n--- a\n+++ a\n@@ -1 +1 @@\n-one\n+ours\n"}},
		{tools.Patch{}, arguments{"patch": "--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"}},
	} {
		host := &hosttest.Host{Tree: map[string]string{"a": "one\n", "b": "one\n"}}
		result := call(t, test.tool, hasty{host}, test.arguments)
		if code(result) != domain.CodeConflict {
			t.Errorf("got %+v", result)
		}
		if diff := cmp.Diff(map[string]string{"a": "theirs\n", "b": "one\n"}, host.Tree); diff != "" {
			t.Error(diff)
		}
	}
}

// What a search or a change reads of a file by itself, the model has not viewed.
func TestOnlyReadShowsFiles(t *testing.T) {
	host := &hosttest.Host{Tree: map[string]string{"a": "one\n", "b": "one\n", "c": "one\n"}}
	for _, try := range []struct {
		tool      tools.Tool
		arguments arguments
	}{
		{tools.Search{}, arguments{"pattern": "one"}},
		{tools.List{}, arguments{}},
		{tools.Edit{}, arguments{"path": "a", "oldText": "one", "newText": "two"}},
		{tools.Patch{}, arguments{"patch": "--- b\n+++ b\n@@ -1 +1 @@\n-one\n+two\n"}},
		{tools.Write{}, arguments{"path": "c", "content": domain.Masked}},
	} {
		_ = call(t, try.tool, host, try.arguments)
		if viewed := host.Viewed(); len(viewed) > 0 {
			t.Fatalf("%s shows %q", try.tool.Definition().Name, viewed)
		}
	}
}

func TestEditIsFastOnRepeatedText(t *testing.T) {
	host := &hosttest.Host{Tree: map[string]string{"a": strings.Repeat("a", 1<<20)}}
	result := call(t, tools.Edit{}, host, arguments{"path": "a", "oldText": strings.Repeat("a", 1<<17), "newText": "b"})
	if !strings.Contains(result.Output, "1000 times or more") {
		t.Errorf("got %.300s", result.Output)
	}
}

func TestWrite(t *testing.T) {
	host := &hosttest.Host{Tree: map[string]string{"old": "x"}}
	for _, test := range []struct{ path, content, want string }{
		{"new/folder/file", "one\ntwo", "Created new/folder/file: 2 lines, 7 bytes."},
		{"old", "é\n", "Replaced old: 1 line, 3 bytes."},
		{"empty", "", "Created empty: 0 lines, 0 bytes."},
		{"crlf", "a\r\n", "Created crlf: 1 line, 3 bytes."},
	} {
		result := call(t, tools.Write{}, host, arguments{"path": test.path, "content": test.content})
		content, written := host.Content(test.path)
		if result.Output != test.want || content != test.content || !written {
			t.Errorf("%s: %+v, %q", test.path, result, content)
		}
	}
	if len(host.Tree) != 4 {
		t.Errorf("the files are %v", host.Tree)
	}
}

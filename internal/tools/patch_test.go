package tools_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// patched is what the patch makes of these files, and the result.
func patched(t testing.TB, tree map[string]string, patch string) (map[string]string, tools.Result) {
	t.Helper()
	host := &hosttest.Host{Tree: maps.Clone(tree)}
	result := call(t, tools.Patch{}, host, arguments{"patch": patch})
	return host.Tree, result
}

func TestPatchChanges(t *testing.T) {
	for name, test := range map[string]struct{ before, patch, after string }{
		"exact":                     {"a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		"wrong counts":              {"a\nb\nc\n", "@@ -1,9 +7 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		"no numbers":                {"a\nb\nc\n", "@@ @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		"no header but @@":          {"a\nb\nc\n", "@@ func main()\n a\n-b\n+B\n c\n", "a\nB\nc\n"},
		"huge numbers":              {"a\nb\n", "@@ -99999999999999999999,3 +1,3 @@\n-b\n+B\n", "a\nB\n"},
		"shifted":                   {numbered(9), "@@ -2,2 +2,2 @@\n line 7\n-line 8\n+LINE 8\n", strings.Replace(numbered(9), "line 8", "LINE 8", 1)},
		"far away":                  {numbered(900), "@@ -2,1 +2,1 @@\n-line 808\n+LINE\n", strings.Replace(numbered(900), "line 808", "LINE", 1)},
		"own place of several":      {"x\na\nx\na\nx\na\n", "@@ -3,2 +3,2 @@\n x\n-a\n+A\n", "x\na\nx\nA\nx\na\n"},
		"the one nearby of several": {"x\n" + numbered(200) + "x\n", "@@ -190,1 +190,1 @@\n-x\n+X\n", "x\n" + numbered(200) + "X\n"},
		"hunks out of order":        {"a\nb\nc\nd\n", "@@ -4 +4 @@\n-d\n+D\n@@ -1 +1 @@\n-a\n+A\n", "A\nb\nc\nD\n"},
		"blank line without space":  {"a\n\nc\n", "@@ -1,3 +1,3 @@\n a\n\n-c\n+C\n", "a\n\nC\n"},
		"blank lines behind":        {"a\n\nc\n", "@@ -1,1 +1,1 @@\n-a\n+A\n\n\n", "A\n\nc\n"},
		"removed that looks named":  {"-- x\n++ y\n", "@@ -1,2 +1 @@\n--- x\n+++ z\n ++ y\n", "++ z\n++ y\n"},
		"insertion at the end":      {"a\nb\n", "@@ -2 +2,2 @@\n b\n+c\n", "a\nb\nc\n"},
		"insertion at the start":    {"a\nb\n", "@@ -1 +1,2 @@\n+0\n a\n", "0\na\nb\n"},
		"all removed":               {"a\nb\n", "@@ -1,2 +0,0 @@\n-a\n-b\n", ""},
		"into an empty file":        {"", "@@ -0,0 +1,2 @@\n+a\n+b\n", "a\nb\n"},
		"CRLF":                      {"a\r\nb\r\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B\n c\n", "a\r\nB\r\nB\r\nc\r\n"},
		"CRLF in both":              {"a\r\nb\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n", "a\r\nB\r\n"},
		"mixed ends stay":           {"a\nb\r\nc\r\nd\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB\r\nc\r\nd\n"},
		"CRLF in the patch alone":   {"a\nb\nc\n", "@@ -1,3 +1,4 @@\r\n a\r\n-b\r\n+B\r\n+B\r\n c\n", "a\nB\nB\nc\n"},
		"CRLF in one new line":      {"a\nb\n", "@@ -2 +2 @@\n-b\n+B\r\n", "a\nB\n"},
		"CRLF in one old line":      {"a\r\nb\nc\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n+x\n", "A\r\nb\nx\nc\n"},
		"CRLF into an empty file":   {"", "@@ @@\n+a\r\n+b\r\n", "a\r\nb\r\n"},
		"removed like a signature":  {"a\nb\n- \nc\nd\n", "@@ -1,2 +1,1 @@\n a\n-b\n-- \n-c\n+C\n d\n", "a\nC\nd\n"},
		"removed like it, at last":  {"a\nb\n- \nc\n", "@@ -1,2 +1,1 @@\n a\n-b\n-- \n", "a\nc\n"},
		"unended, marked":           {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n", "a\nB"},
		"unended, mark forgotten":   {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n", "a\nB"},
		"unended context, marked":   {"a\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n", "A\nb"},
		"an end is added":           {"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", "a\nb\n"},
		"an end is removed":         {"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"},
		"a line behind the unended": {"a", "@@ -1 +1,2 @@\n a\n+b\n", "a\nb"},
		"the unended goes":          {"a\nb", "@@ -1,2 +1 @@\n a\n-b\n", "a"},
		"unended only at the end":   {"b\na\nb", "@@ @@\n-b\n+B\n\\ No newline at end of file\n", "b\na\nB"},
		"a mail's signature":        {"a\n", "@@ -1 +1 @@\n-a\n+A\n-- \n2.43.0\n\n", "A\n"},
	} {
		t.Run(name, func(t *testing.T) {
			after, result := patched(t, map[string]string{"f": test.before}, "--- a/f\n+++ b/f\n"+test.patch)
			if result.Failure != nil || after["f"] != test.after {
				t.Errorf("got %q, %+v, want %q", after["f"], result, test.after)
			}
		})
	}
}

func TestPatchFiles(t *testing.T) {
	tree := map[string]string{"f": "a\n", "dir/g h": "a\n", "a/f": "a\n", "tab\there": "a\n", "empty": "", "é": "a\n"}
	edit := "@@ -1 +1 @@\n-a\n+b\n"
	for name, test := range map[string]struct {
		patch  string
		want   map[string]string // what differs; "gone" is deleted
		output string
	}{
		"prefixes":          {"--- a/f\n+++ b/f\n" + edit, map[string]string{"f": "b\n"}, "Patched 1 file:\nedit `f` +1 −1\n"},
		"plain":             {"--- f\n+++ f\n" + edit, map[string]string{"f": "b\n"}, ""},
		"a folder a":        {"--- a/f\n+++ a/f\n" + edit, map[string]string{"a/f": "b\n"}, ""},
		"a folder a, b/a":   {"--- a/a/f\n+++ b/a/f\n" + edit, map[string]string{"a/f": "b\n"}, ""},
		"times":             {"--- a/f\t2024-01-01 00:00:00\n+++ b/f\t1970-01-01 00:00:00\n" + edit, map[string]string{"f": "b\n"}, ""},
		"spaces":            {"--- a/dir/g h\n+++ b/dir/g h\n" + edit, map[string]string{"dir/g h": "b\n"}, ""},
		"quoted":            {"--- \"a/tab\\there\"\n+++ \"b/tab\\there\"\n" + edit, map[string]string{"tab\there": "b\n"}, ""},
		"quoted by numbers": {"--- \"a/\\303\\251\"\n+++ \"b/\\303\\251\"\n" + edit, map[string]string{"é": "b\n"}, ""},
		"git":               {"From x\nSubject: y\n\n- a point\n---\n f | 2 +-\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n" + edit, map[string]string{"f": "b\n"}, ""},
		"mails": {"--- a/f\n+++ b/f\n" + edit + "-- \n2.43.0\n\nFrom x\nSubject: y\n\n- a point\n---\n f | 2 +-\n\ndiff --git a/a/f b/a/f\n--- a/a/f\n+++ b/a/f\n" + edit + "-- \n2.43.0\n\n",
			map[string]string{"f": "b\n", "a/f": "b\n"}, ""},
		"fence before":    {"```diff\n--- a/f\n+++ b/f\n" + edit, map[string]string{"f": "b\n"}, ""},
		"all on Windows":  {strings.ReplaceAll("--- a/f\n+++ b/f\n"+edit, "\n", "\r\n"), map[string]string{"f": "b\n"}, ""},
		"create":          {"--- /dev/null\n+++ b/new/x\n@@ -0,0 +1,2 @@\n+1\n+2\n", map[string]string{"new/x": "1\n2\n"}, "create `new/x` +2 −0\n"},
		"create, unended": {"--- /dev/null\n+++ x\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n", map[string]string{"x": "1"}, ""},
		"create by git":   {"diff --git a/x b/x\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n", map[string]string{"x": "1\n"}, ""},
		"create empty":    {"diff --git a/x b b/x b\nnew file mode 100644\nindex 0..1\n", map[string]string{"x b": ""}, ""},
		"delete":          {"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", map[string]string{"f": "gone"}, "delete `f` +0 −1\n"},
		"delete empty":    {"diff --git a/empty b/empty\ndeleted file mode 100644\nindex 1..0\n", map[string]string{"empty": "gone"}, ""},
		"all at once": {"--- a/f\n+++ b/f\n" + edit + "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+1\n" + "diff --git a/a/f b/a/f\ndeleted file mode 100644\n--- a/a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
			map[string]string{"f": "b\n", "x": "1\n", "a/f": "gone"}, "Patched 3 files:\n"},
		"found elsewhere": {"--- a/f\n+++ b/f\n@@ -9 +9 @@\n-a\n+b\n", map[string]string{"f": "b\n"}, "edit `f` +1 −1 (hunk 1 found at line 1)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			want := maps.Clone(tree)
			for path, content := range test.want {
				want[path] = content
				if content == "gone" {
					delete(want, path)
				}
			}
			after, result := patched(t, tree, test.patch)
			if diff := cmp.Diff(want, after); result.Failure != nil || diff != "" || !strings.Contains(result.Output, test.output) {
				t.Errorf("%+v\n%s", result, diff)
			}
		})
	}
	twice := "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+A\n--- a/f\n+++ ./b/../f\n@@ -2 +2 @@\n-b\n+B\n"
	after, result := patched(t, map[string]string{"f": "a\nb\n"}, strings.Replace(twice, "./b/../f", "b/f", 1))
	if after["f"] != "A\nB\n" {
		t.Errorf("names before each hunk: %q, %+v", after["f"], result)
	}
}

// TestPatchIsAllOrNone has a good file before and behind each that fails.
func TestPatchIsAllOrNone(t *testing.T) {
	tree := map[string]string{"f": "a\nb\nc\nb\n", "first": "a\n", "last": "a\n", "binary": "a\x00", "huge": strings.Repeat("x", 4<<20+1)}
	var many, hunks strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, "--- /dev/null\n+++ b/%d\n@@ -0,0 +1 @@\n+x\n", i)
	}
	for range 201 {
		hunks.WriteString("@@ -1 +1 @@\n-a\n+b\n")
	}
	f := "--- a/f\n+++ b/f\n"
	for name, test := range map[string]struct {
		patch string
		want  string
		code  domain.Code // empty: invalidArguments, before anything is read
	}{
		"another line":             {f + "@@ -1,3 +1,3 @@\n a\n-x\n+B\n c\n", `f: hunk 1 of 1 does not fit. The most similar place begins at line 1. Line 2 is "b", where the patch has "x".`, domain.CodeToolFailed},
		"second hunk":              {f + "@@ -1 +1 @@\n-a\n+A\n@@ -3,2 +3,2 @@\n c\n-  b\n+B\n", `hunk 2 of 2 does not fit. The most similar place begins at line 3. Line 4 is "b", where the patch has "  b". Only the white space differs.`, domain.CodeToolFailed},
		"nothing like it":          {f + "@@ -1 +1 @@\n-zzz\n+A\n", "no line of it is there", domain.CodeToolFailed},
		"ambiguous":                {f + "@@ -1 +1 @@\n-b\n+B\n", "fits at line 2 as well as at line 4", domain.CodeToolFailed},
		"overlapping":              {f + "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -2,2 +2,2 @@\n-b\n+C\n c\n", "the hunks 1 and 2 overlap at line 2", domain.CodeToolFailed},
		"same hunk twice":          {f + "@@ -1 +1 @@\n-a\n+A\n@@ -1 +1 @@\n-a\n+A\n", "overlap", domain.CodeToolFailed},
		"no context":               {f + "@@ -2,0 +3 @@\n+x\n", "no line that is there already", domain.CodeToolFailed},
		"unended elsewhere":        {f + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+A\n", "does not fit", domain.CodeToolFailed},
		"nothing changes":          {f + "@@ -1 +1 @@\n-a\n+a\n", "would change nothing", domain.CodeToolFailed},
		"missing file":             {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "There is no such file.", domain.CodeToolFailed},
		"existing file":            {"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", "", domain.CodeConflict},
		"deleted in part":          {"--- a/f\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n", "1 line of it would remain", domain.CodeToolFailed},
		"delete what has lines":    {"diff --git a/f b/f\ndeleted file mode 100644\n", "4 lines of it would remain", domain.CodeToolFailed},
		"binary file":              {"--- a/binary\n+++ b/binary\n@@ -1 +1 @@\n-a\n+b\n", "binary is a binary file", domain.CodeToolFailed},
		"huge file":                {"--- a/huge\n+++ b/huge\n@@ -1 +1 @@\n-a\n+b\n", "longer than 4 MiB", domain.CodeToolFailed},
		"outside":                  {"--- a/../f\n+++ b/../f\n@@ -1 +1 @@\n-a\n+b\n", "leaves the workspace", domain.CodePathOutsideWorkspace},
		"created twice":            {"--- /dev/null\n+++ x\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ ./x\n@@ -0,0 +1 @@\n+y\n", "`x` is there twice", ""},
		"edited and deleted":       {f + "@@ -1 +1 @@\n-a\n+A\n--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "is there twice", ""},
		"renamed":                  {"--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "the names `f` and `g` differ", ""},
		"original kept":            {"--- f.orig\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", "differ", ""},
		"renamed by git":           {"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n", "cannot be renamed", ""},
		"copied by git":            {"diff --git a/f b/g\ncopy from f\ncopy to g\n", "cannot be copied", ""},
		"mode":                     {"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", "modes cannot be changed", ""},
		"executable":               {"diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n", "only plain files", ""},
		"link":                     {"diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n", "only plain files", ""},
		"submodule":                {"diff --git a/x b/x\nnew file mode 160000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+Subproject commit 1\n", "only plain files", ""},
		"binary patch":             {"diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZ\n", "binary patches", ""},
		"binary files":             {"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "binary patches", ""},
		"lying header":             {"diff --git a/f b/f\nnew file mode 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "do not agree", ""},
		"lying deletion":           {"diff --git a/f b/f\ndeleted file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n", "do not agree", ""},
		"git without a hunk":       {"diff --git a/f b/f\nindex 1..2\n", "a file without a hunk", ""},
		"unreadable git names":     {"diff --git f\nnew file mode 100644\n", "names cannot be read", ""},
		"no names":                 {"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "no file has a name", ""},
		"empty name":               {"--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n", "the name is empty", ""},
		"NUL in a name":            {"--- \"f\\000\"\n+++ \"f\\000\"\n@@ -1 +1 @@\n-a\n+b\n", "not text", ""},
		"bad quotes":               {"--- \"f\n+++ \"f\n@@ -1 +1 @@\n-a\n+b\n", "quoted name cannot be read", ""},
		"bad escape":               {"--- \"\\q\"\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", "quoted name cannot be read", ""},
		"long name":                {"--- " + strings.Repeat("x", 5000) + "\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", "too long", ""},
		"space forgotten":          {f + "@@ -1,3 +1,3 @@\na\n-b\n+B\n c\n", "Line 9 of the patch: `a` is no line of a hunk", ""},
		"fence behind":             {f + "@@ -1 +1 @@\n-a\n+A\n```\nPlease apply.\n", "is no line of a hunk", ""},
		"hunk without change":      {f + "@@ -1 +1 @@\n a\n", "the hunk changes nothing", ""},
		"empty hunk":               {f + "@@ -1 +1 @@\n", "the hunk changes nothing", ""},
		"no hunk":                  {f + "\n", "a file without a hunk", ""},
		"hunk alone":               {"", "Line 2 of the patch: a hunk without the lines", ""},
		"mark alone":               {f + "@@ -1 +1 @@\n\\ No newline at end of file\n-a\n", "no line before it", ""},
		"line behind the mark":     {f + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n-b\n+c\n", "is said to be the last of the file", ""},
		"context in a new file":    {"--- /dev/null\n+++ x\n@@ -0,0 +1,2 @@\n a\n+b\n", "must begin with +", ""},
		"addition to a deleted":    {"--- f\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "must begin with -", ""},
		"a hunk's rest, signed":    {f + "@@ -1 +1 @@\n-a\n+A\n-- \n+more\n", "does not fit", domain.CodeToolFailed},
		"a rest below the version": {f + "@@ -1 +1 @@\n-a\n+A\n-- \n2.43.0\n\n-c\n+C\n", "`-c` looks like a part of a hunk", ""},
		"a rest below a context":   {f + "@@ -1,2 +1,2 @@\n-a\n+A\ndiff the files\n-c\n+C\n", "`-c` looks like a part of a hunk", ""},
		"many files":               {many.String(), "at most 50 files", ""},
		"many hunks":               {f + hunks.String(), "at most 200 hunks", ""},
	} {
		t.Run(name, func(t *testing.T) {
			patch := "--- a/first\n+++ b/first\n@@ -1 +1 @@\n-a\n+b\n" + test.patch + "diff --git a/last b/last\n--- a/last\n+++ b/last\n@@ -1 +1 @@\n-a\n+b\n"
			wanted := test.code
			if wanted == "" {
				wanted = domain.CodeInvalidArguments
			}
			if name == "hunk alone" {
				patch = "text\n@@ -1 +1 @@\n-a\n+b\n" + patch
			}
			after, result := patched(t, tree, patch)
			if code(result) != wanted || !strings.Contains(result.Output, test.want) {
				t.Errorf("got %q (%s), want %q", result.Output, code(result), test.want)
			}
			if diff := cmp.Diff(tree, after); diff != "" {
				t.Error(diff)
			}
			if wanted != domain.CodeInvalidArguments && !strings.HasPrefix(result.Output, "Nothing was changed.\n") {
				t.Errorf("got %q", result.Output)
			}
		})
	}
	for _, empty := range []string{"no diff", "--- a/f\n", "*** Begin Patch\n*** Update File: f\n-a\n+b\n*** End Patch\n"} {
		if _, result := patched(t, tree, empty); !strings.Contains(result.Output, "There is no file in the patch") {
			t.Errorf("%q: %+v", empty, result)
		}
	}
}

// TestPatchIsFastOnRepeatedLines: line by line at every place, this would be 10¹⁰ comparisons.
func TestPatchIsFastOnRepeatedLines(t *testing.T) {
	patch := "--- f\n+++ f\n@@ -1 +1 @@\n" + strings.Repeat(" \n", 50_000) + "-x\n+y\n"
	after, result := patched(t, map[string]string{"f": strings.Repeat("\n", 1<<18) + "x\n"}, patch)
	if result.Failure != nil || !strings.HasSuffix(after["f"], "\n\ny\n") {
		t.Errorf("%+v", result)
	}
}

// strict is what another reader makes of a patch that is right in every detail.
func strict(t *testing.T, before, patch string) string {
	t.Helper()
	files, _, err := gitdiff.Parse(strings.NewReader(patch))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %v", patch, err)
	}
	var after bytes.Buffer
	if err := gitdiff.Apply(&after, strings.NewReader(before), files[0]); err != nil {
		t.Fatalf("%s: %v", patch, err)
	}
	return after.String()
}

// TestPatchAgreesWithGit: random edits, as diffs with one line of context and right numbers, give what a strict reader makes
// of them.
func TestPatchAgreesWithGit(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for range 300 {
		before, patch := randomPatch(random)
		after, result := patched(t, map[string]string{"f": before}, patch)
		if want := strict(t, before, patch); result.Failure != nil || after["f"] != want {
			t.Fatalf("%q\n%s\n got %q, %+v\nwant %q", before, patch, after["f"], result, want)
		}
	}
}

func randomPatch(random *rand.Rand) (before, patch string) {
	var lines []string
	for range 6 + random.IntN(60) {
		lines = append(lines, fmt.Sprintf("%c%c", 'a'+random.IntN(3), 'a'+random.IntN(3)))
	}
	var hunks strings.Builder
	shift := 0
	for at := random.IntN(4); at+3 <= len(lines); at += 4 + random.IntN(12) {
		added := random.IntN(3)
		fmt.Fprintf(&hunks, "@@ -%d,3 +%d,%d @@\n %s\n-%s\n", at+1, at+1+shift, 2+added, lines[at], lines[at+1])
		for i := range added {
			fmt.Fprintf(&hunks, "+new %d\n", i)
		}
		fmt.Fprintf(&hunks, " %s\n", lines[at+2])
		shift += added - 1
	}
	return strings.Join(lines, "\n") + "\n", "diff --git a/f b/f\n--- a/f\n+++ b/f\n" + hunks.String()
}

// FuzzPatch: whatever a model writes, nothing panics, and a failure changes nothing.
func FuzzPatch(f *testing.F) {
	f.Add("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nb\nc\n")
	f.Add("--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b\n\\ No newline at end of file\n--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+x\n", "a")
	f.Add("diff --git a/f b/f\ndeleted file mode 100644\nindex 1..0\n", "")
	f.Add("diff --git \"a/f\" \"b/f\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\251\"\n@@ @@\n+\r\n\n-- \n", "\r\n\r")
	f.Add("--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", "a\r\nb")
	f.Fuzz(func(t *testing.T, patch, content string) {
		tree := map[string]string{"f": content, "other": "other\n"}
		after, result := patched(t, tree, patch)
		if diff := cmp.Diff(tree, after); result.Failure != nil && diff != "" {
			t.Errorf("failed with %q, and changed %s", result.Output, diff)
		}
		if diff := cmp.Diff(tree, after); result.Failure == nil && diff == "" {
			t.Errorf("nothing changed, and nothing was said: %q", result.Output)
		}
	})
}

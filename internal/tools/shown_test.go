package tools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// TestWhatWasHiddenIsNotWrittenBack: the model was shown `[masked]` for a key, and bytes that are no text as �. A file must not
// lose them because a model writes down what it has read.
func TestWhatWasHiddenIsNotWrittenBack(t *testing.T) {
	files := map[string]string{
		"env":   "port=80\nkey=s3cr3t\n",
		"doc":   "A key is shown as [masked].\n",
		"latin": "caf\xe9\nb\n",
		"fffd":  "a \ufffd\n",
		"red":   "\x1b[31mred\nb\n",
	}
	const mark, latin, signs = "The mark stands where a secret was hidden from you", "latin is not UTF-8 text: \ufffd stands for bytes",
		"red holds control characters, and you were shown signs such as ␛"
	for name, test := range map[string]struct {
		tool      tools.Tool
		arguments arguments
		want      string // of the refusal
	}{
		"write":            {tools.Write{}, arguments{"path": "env", "content": "port=81\nkey=[masked]\n"}, mark},
		"write a new file": {tools.Write{}, arguments{"path": "copy", "content": "key=[masked]\n"}, mark},
		"write once more":  {tools.Write{}, arguments{"path": "doc", "content": "As [masked] and [masked].\n"}, mark},
		"edit":             {tools.Edit{}, arguments{"path": "env", "oldText": "port=80\n", "newText": "port=81\nkey=[masked]\n"}, mark},
		"edit, not found":  {tools.Edit{}, arguments{"path": "env", "oldText": "port=80\nkey=[masked]", "newText": "x"}, "Where you were shown [masked], the file holds a secret"},
		"edit, no such line": {tools.Edit{}, arguments{"path": "env", "oldText": "[masked]", "newText": "x"},
			"Where you were shown [masked], the file holds a secret"},
		"patch": {tools.Patch{}, arguments{"patch": "--- env\n+++ env\n@@ -1 +1,2 @@\n-port=80\n+port=81\n+key=[masked]\n"}, mark},
		"patch, not found": {tools.Patch{}, arguments{"patch": "--- env\n+++ env\n@@ -1,2 +1,2 @@\n-port=80\n+port=81\n key=[masked]\n"},
			"Where you were shown [masked], the file holds a secret"},
		"patch, no such line": {tools.Patch{}, arguments{"patch": "--- doc\n+++ doc\n@@ -1 +1 @@\n-x=[masked]\n+y\n"},
			"Where you were shown [masked], the file holds a secret"},
		"patch a new file": {tools.Patch{}, arguments{"patch": "--- /dev/null\n+++ copy\n@@ -0,0 +1 @@\n+[masked]\n"}, mark},
		"write, a sign":    {tools.Write{}, arguments{"path": "red", "content": "␛[31mred\nc\n"}, signs},
		"edit, a sign":     {tools.Edit{}, arguments{"path": "red", "oldText": "b", "newText": "␛[0m"}, signs},
		"edit, sign found": {tools.Edit{}, arguments{"path": "red", "oldText": "␛[31mred", "newText": "c"}, "Where you were shown a sign such as ␛"},
		"write, not text":  {tools.Write{}, arguments{"path": "latin", "content": "caf\ufffd\nc\n"}, latin},
		"edit, not text":   {tools.Edit{}, arguments{"path": "latin", "oldText": "b", "newText": "c"}, latin},
		"patch, not text":  {tools.Patch{}, arguments{"patch": "--- latin\n+++ latin\n@@ -2 +2 @@\n-b\n+c\n"}, latin},
	} {
		t.Run(name, func(t *testing.T) {
			after := map[string]string{}
			for path, content := range files {
				after[path] = content
			}
			result := call(t, test.tool, &hosttest.Host{Tree: after}, test.arguments)
			if code(result) != domain.CodeToolFailed || !strings.Contains(result.Output, test.want) {
				t.Errorf("got %+v, want %q", result, test.want)
			}
			if diff := cmp.Diff(files, after); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatIsKnownIsReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		before    string
		tool      tools.Tool
		arguments arguments
		after     string
	}{
		"the mark itself":   {"As [masked].\n", tools.Write{}, arguments{"content": "It is [masked].\n"}, "It is [masked].\n"},
		"beside the mark":   {"As [masked].\n", tools.Edit{}, arguments{"oldText": "As [", "newText": "It is ["}, "It is [masked].\n"},
		"beside a secret":   {"a\nkey=s3cr3t\n", tools.Edit{}, arguments{"oldText": "a\n", "newText": "b\n"}, "b\nkey=s3cr3t\n"},
		"other text at all": {"caf\xe9\n", tools.Write{}, arguments{"content": "café\n"}, "café\n"},
		"the � itself":      {"a \ufffd\n", tools.Write{}, arguments{"content": "b \ufffd\n"}, "b \ufffd\n"},
		"a new � ":          {"", tools.Write{}, arguments{"content": "\ufffd"}, "\ufffd"},
	} {
		host := &hosttest.Host{Tree: map[string]string{"f": test.before}}
		test.arguments["path"] = "f"
		if result := call(t, test.tool, host, test.arguments); result.Failure != nil || host.Tree["f"] != test.after {
			t.Errorf("%s: %+v, %q", name, result, host.Tree["f"])
		}
	}
}

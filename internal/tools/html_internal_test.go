package tools

import (
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

var somewhere = &url.URL{Scheme: "https", Host: "a.example", Path: "/dir/"}

// filled is a page of half a megabyte: the beginning, and then one unit again and again.
func filled(begin, unit string) string {
	return begin + strings.Repeat(unit, (1<<19-len(begin))/len(unit))
}

// TestHostilePages has pages that a parser or converter turns into gigabytes, or works at for minutes.
func TestHostilePages(t *testing.T) {
	var formats strings.Builder
	for i := range 400 {
		_, _ = fmt.Fprintf(&formats, "<b a%d>", i)
	}
	pages := map[string]string{
		"formats that every paragraph opens again": filled(formats.String(), "<p>x"),
		"headings that are not closed":             filled("", "<h1>x</h2>"),
		"quotes in quotes":                         filled(strings.Repeat("<blockquote>", 400), "<p>x"),
		"lists in lists":                           filled("", "<ul><li>x"),
		"boxes in boxes":                           filled("", "<div>"),
		"cells as wide as a table":                 filled("<table>", "<tr><td colspan=1000 rowspan=1000>x"),
		"wide tables":                              filled("", "<table><tr><td colspan=1000>x</table>"),
		"one wide row":                             filled("<table><tr>"+strings.Repeat("<td>y", 40_000), "<tr><td>x"),
		"one long cell":                            filled("<table><tr><td>"+strings.Repeat("y", 100_000), "<tr><td>x"),
		"tables in tables":                         filled("", "<table><tr><td>"),
		"attributes":                               "<a " + filled("", "x=y ") + ">",
		"a script without an end":                  filled("<p>before<script>", "x"),
		"backticks":                                filled("<pre><code>", "```\n"),
		"marks":                                    filled("", "*_`[]|"),
		"brackets":                                 filled("", "["),
		"brackets that others end":                 filled("", "[<i>]</i>[ "),
	}
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			text := pageMarkdown(page, somewhere, toMarkdown)
			runtime.ReadMemStats(&after)
			if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 500 || len(text) > 8*len(page) {
				t.Errorf("half a megabyte cost %d MB, and became %d bytes", allocated, len(text))
			}
		})
	}
}

// TestBrokenPages has what people write, and browsers understand.
func TestBrokenPages(t *testing.T) {
	tests := []struct{ page, want string }{
		{"<p>one<p>two", "one\n\ntwo"},
		{"<p>one<div>two</div>three", "one\n\ntwo\n\nthree"},
		{"<ul><li>one<ul><li>deep</ul><li>two</ul>", "- one\n  \n  - deep\n- two"},
		{"<dl><dt>a<dd>b<dt>c<dd>d</dl>", "a\n\nb\n\nc\n\nd"},
		{"<table><thead><tr><th>a<tbody><tr><td>b</b><tr><td>c</table>after", "| a |\n|---|\n| b |\n| c |\n\nafter"},
		{"<table><td>a</table>", "| a |\n|---|"},
		{"<a href=1>one <a href=/2>two</a>", "[one](https://a.example/dir/1) [two](https://a.example/2)"},
		{"</p></div>x</b>", "x"},
		{"<a href='javascript:alert(1)'>x</a> <a class=b href='data:,y'>y</a> <a name=z>z</a>", "x y z"},
		{"<b>one</i> two</b>", "**one two**"},
		{"one<br>two<hr/>three", "one  \ntwo\n\n* * *\n\nthree"},
		{"<script/>alert(1)</script>x<noscript>y</noscript><iframe>z</iframe>", "x"},
		{"a [b] [c <a href=/1>[d]</a> [", `a \[b] \[c [\[d\]](https://a.example/1) \[`},
		{"a &lt;b&gt; &amp;amp; \u00a0&nbsp;c", "a &lt;b&gt; &amp; \u00a0\u00a0c"},
		{"<!-- <p>hidden --><p>shown<!", "shown"},
	}
	for _, test := range tests {
		if got := pageMarkdown(test.page, somewhere, toMarkdown); got != test.want {
			t.Errorf("%s\ngot  %q\nwant %q", test.page, got, test.want)
		}
	}
}

func TestPagesThatCannotBeConverted(t *testing.T) {
	const page = "<h1>One</h1><p>two\n  <b>three</b><script>x</script><ul><li>four</ul>"
	const want = "One\ntwo three\nfour"
	broken := map[string]func(*html.Node) (string, error){
		"fails":  func(*html.Node) (string, error) { return "", errors.New("no") },
		"panics": func(tree *html.Node) (string, error) { tree.RemoveChild(tree.FirstChild); panic("no") },
	}
	for name, convert := range broken {
		if got := pageMarkdown(page, somewhere, convert); got != want {
			t.Errorf("where the converter %s: %q", name, got)
		}
	}
	long := pageMarkdown(strings.Repeat("<p><b>x</b>", maxNodes), somewhere, toMarkdown)
	if !strings.HasPrefix(long, "x\nx\n") {
		t.Errorf("a page with too many elements begins with %.20q", long)
	}
	if text := pageMarkdown("<b>x</b>"+strings.Repeat("y", maxConverted), somewhere, toMarkdown); !strings.HasPrefix(text, "x y") {
		t.Errorf("a page with too much text begins with %.20q", text)
	}
}

// TestMarksAreNotConvertedWithoutEnd: two megabytes of them took the converter, which cannot be stopped, ten times as long as
// the same number of letters.
func TestMarksAreNotConvertedWithoutEnd(t *testing.T) {
	for _, mark := range marks {
		converted := false
		page := "<p>" + html.EscapeString(strings.Repeat(string(mark), maxMarks+1))
		text := pageMarkdown(page, somewhere, func(*html.Node) (string, error) { converted = true; return "", nil })
		if converted || len(text) != maxMarks+1 {
			t.Errorf("%q: converted is %v, and %d characters are left", mark, converted, len(text))
		}
	}
}

func FuzzPageMarkdown(f *testing.F) {
	f.Add("<table><tr><td rowspan=2>a|b<th>c<ul><li>d</table><a href=x><pre>`")
	f.Fuzz(func(t *testing.T, page string) {
		if text, err := guarded(toMarkdown, parseHTML(page, somewhere)); err != nil {
			t.Errorf("%v; so far %q", err, text)
		}
	})
}

package tools_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

func numbered(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	return text.String()
}

func TestRead(t *testing.T) {
	wide := strings.Repeat("x", 100<<10) + "\n"
	files := fstest.MapFS{
		"short":  {Data: []byte("one\ntwo\nthree")},
		"empty":  {},
		"lines":  {Data: []byte(numbered(5000))},
		"binary": {Data: []byte("ELF\x00\x01")},
		"latin":  {Data: []byte("caf\xe9\n")},
		"wide":   {Data: []byte(wide + wide + wide + "tail\n")},
		"edge":   {Data: []byte(strings.Repeat(strings.Repeat("x", 131_050)+"\n", 2) + strings.Repeat("y", 100))},
		"giant":  {Data: []byte("first\n" + strings.Repeat("€", 1<<20) + "\nlast\n")},
		"folder": {Mode: fs.ModeDir},

		"output:c1": {Data: []byte("a file")},
	}
	host := &hosttest.Host{Files: files, Outputs: map[string]string{"c1": numbered(2500), "c2": ""}}
	tests := []struct {
		name, arguments string
		want            string // the beginning of the output
		end             string // its end
		truncated       bool
		code            domain.Code
	}{
		{"all", `{"path":"short"}`, "one\ntwo\nthree", "three", false, ""},
		{"part", `{"path":"short","offset":2,"limit":1}`, "two\n[Lines 2 to 2.", "read with offset 3.]", true, ""},
		{"last line", `{"path":"short","offset":3}`, "three", "three", false, ""},
		{"behind the end", `{"path":"short","offset":4}`, "The file has 3 lines; offset 4", "end.", false, domain.CodeInvalidArguments},
		{"behind the end with a line feed", `{"path":"lines","offset":5001}`, "The file has 5000 lines", "end.", false, domain.CodeInvalidArguments},
		{"empty", `{"path":"empty"}`, "(the file is empty)", "", false, ""},
		{"default limit", `{"path":"lines"}`, "line 1\n", "line 2000\n[Lines 1 to 2000. The file goes on: read with offset 2001.]", true, ""},
		{"the end", `{"path":"lines","offset":4999}`, "line 4999\nline 5000\n", "line 5000\n", false, ""},
		{"exactly the end", `{"path":"lines","offset":4999,"limit":2}`, "line 4999\nline 5000\n", "line 5000\n", false, ""},
		{"binary", `{"path":"binary"}`, "This is a binary file", "", false, domain.CodeToolFailed},
		{"latin", `{"path":"latin"}`, "caf\uFFFD\n[This is not UTF-8: each \uFFFD stands for other bytes. Do not write this text back; use a command to change it.]", "", false, ""},
		{"byte cap at a line", `{"path":"wide"}`, "xxx", "[Lines 1 to 2. The file goes on: read with offset 3.]", true, ""},
		{"byte cap goes on", `{"path":"wide","offset":3}`, "xxx", "x\ntail\n", false, ""},
		{"byte cap before the last line", `{"path":"edge"}`, "xxx", "[Lines 1 to 2. The file goes on: read with offset 3.]", true, ""},
		{"line before a giant", `{"path":"giant"}`, "first\n[Lines 1 to 1.", "offset 2.]", true, ""},
		{"giant line", `{"path":"giant","offset":2}`, "€€", "[Line 2 is longer than can be shown and was cut. Use a command such as `cut -c` or `jq`.]", true, ""},
		{"after a giant line", `{"path":"giant","offset":3}`, "last\n", "", false, ""},
		{"folder", `{"path":"folder"}`, "This is a folder", "", false, domain.CodeToolFailed},
		{"output", `{"path":"output:c1"}`, "line 1\n", "line 2000\n[Lines 1 to 2000. The output goes on: read with offset 2001.]", true, ""},
		{"output from a line", `{"path":"output:c1","offset":2500}`, "line 2500\n", "line 2500\n", false, ""},
		{"output behind its end", `{"path":"output:c1","offset":3000}`, "The output has 2500 lines", "end.", false, domain.CodeInvalidArguments},
		{"silent call", `{"path":"output:c2"}`, "(the output is empty)", "", false, ""},
		{"another's call", `{"path":"output:c3"}`, "There is no call `c3` whose output could be read.", "", false, domain.CodeNotFound},
		{"file that is called so", `{"path":"./output:c1"}`, "a file", "a file", false, ""},
		{"missing", `{"path":"nothing"}`, "There is no such file.", "", false, domain.CodeToolFailed},
		{"outside", `{"path":"../etc/passwd"}`, "The path leaves the workspace.", "", false, domain.CodePathOutsideWorkspace},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before := len(host.Viewed())
			result := tools.Read{}.Run(t.Context(), host, domain.ToolCall{Arguments: []byte(test.arguments)})
			if viewed := len(host.Viewed()) > before; viewed != (test.code == "" && !strings.HasPrefix(test.arguments, `{"path":"output:`)) {
				t.Errorf("it counts as viewed: %v", viewed)
			}
			if !strings.HasPrefix(result.Output, test.want) || !strings.HasSuffix(result.Output, test.end) {
				t.Errorf("got %.60q … %.100q", result.Output, result.Output[max(0, len(result.Output)-100):])
			}
			if result.Truncated != test.truncated || len(result.Output) > 257<<10 {
				t.Errorf("truncated %v, %d bytes", result.Truncated, len(result.Output))
			}
			var code domain.Code
			if result.Failure != nil {
				code = result.Failure.Code
			}
			if code != test.code {
				t.Errorf("code %q, want %q", code, test.code)
			}
		})
	}
}

// TestReadAPicture: the model is shown the picture itself, whatever the file is called. What an earlier call printed is text, whatever it begins with.
func TestReadAPicture(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x\x00", 100_000)
	files := fstest.MapFS{"d/gauge.txt": {Data: []byte(png)}, "big.gif": {Data: []byte("GIF89a" + strings.Repeat("x", domain.MaxFileSize-5))}}
	host := &hosttest.Host{Files: files, Outputs: map[string]string{"c1": "GIF89a it said\n"}}
	read := func(path string) tools.Result {
		return tools.Read{}.Run(t.Context(), host, domain.ToolCall{Arguments: domain.Encode(map[string]string{"path": path})})
	}
	result := read("d/gauge.txt")
	if result.Failure != nil || len(result.Files) != 1 || result.Output != "A picture: image/png, 200008 bytes." {
		t.Fatalf("%+v", result)
	}
	part := result.Files[0]
	if _, content, err := host.ReadFile(t.Context(), part.FileID); err != nil || string(content) != png || part.Name != "gauge.txt" ||
		part.Type != domain.PartImage || part.MediaType != domain.MediaPNG || part.Size != int64(len(png)) {
		t.Errorf("%+v, %v", part, err)
	}
	if big := read("big.gif"); big.Failure == nil || big.Failure.Code != domain.CodePayloadTooLarge || !strings.Contains(big.Output, "20000000") || len(host.Stored) != 1 {
		t.Errorf("%+v", big.Failure)
	}
	if viewed := host.Viewed(); !slices.Equal(viewed, []string{"d/gauge.txt"}) {
		t.Errorf("viewed are %q", viewed)
	}
	if printed := read("output:c1"); printed.Output != "GIF89a it said\n" || printed.Files != nil {
		t.Errorf("%+v", printed)
	}
}

// endless is a file that never ends, with lines that never end.
type endless struct{ fs.FileInfo }

func (endless) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
func (endless) Close() error               { return nil }
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
func (e endless) Open(string) (fs.File, error) { return e, nil }

func TestReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call := domain.ToolCall{Arguments: []byte(`{"path":"zero","offset":1000}`)}
	result := tools.Read{}.Run(ctx, &hosttest.Host{Files: endless{}}, call)
	if result.Failure == nil || result.Failure.Code != domain.CodeCancelled {
		t.Errorf("got %+v", result.Failure)
	}
}

func TestReadSummary(t *testing.T) {
	got, err := tools.Read{}.Check([]byte(`{"path":"logs/\u202egol"}`), "/srv")
	if want := "Read `logs/⟨U+202E⟩gol` in /srv"; err != nil || got.Summary != want {
		t.Errorf("got %q, %v", got.Summary, err)
	}
	if want := []string{"/srv/logs/\u202egol"}; !slices.Equal(got.Action.Paths, want) {
		t.Errorf("the policy judges %q, want %q", got.Action.Paths, want)
	}
	got, err = tools.Read{}.Check([]byte(`{"path":"output:c1"}`), "/srv")
	if want := "Read what the call `c1` has printed"; err != nil || got.Summary != want || got.Action.Paths != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

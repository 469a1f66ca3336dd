package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", lineLimit)
	input := "one\r\n\n\ufeff  two \n" + long + "\n" + long[1:] + "\nlast"
	for name, from := range map[string]io.Reader{
		"large reads": strings.NewReader(input),
		"with an end": iotest.DataErrReader(strings.NewReader(input)),
	} {
		t.Run(name, func(t *testing.T) {
			lines := newLineReader(from)
			for i, want := range []agentLine{
				{text: []byte("one"), size: 5},
				{text: []byte{}, size: 1},
				{text: []byte("two"), size: 10},
				{text: []byte(long[:sampleLimit]), size: lineLimit + 1, tooLong: true},
				{text: []byte(long[1:]), size: lineLimit},
				{text: []byte("last"), size: 4},
			} {
				got, err := lines.next()
				if err != nil || !bytes.Equal(got.text, want.text) || got.size != want.size || got.tooLong != want.tooLong {
					t.Fatalf("line %d: %d bytes, too long %v, %v", i, got.size, got.tooLong, err)
				}
			}
			for range 2 {
				if _, err := lines.next(); !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
		})
	}
}

// A line that is cut in the middle of a character is still one that may go into a database.
func TestSampleIsShortAndValid(t *testing.T) {
	sample := agentLine{text: []byte("\xff\x00é" + strings.Repeat("é", 1000))}.sample()
	if len(sample) > sampleLimit || !strings.HasPrefix(sample, "??éé") || !strings.HasSuffix(sample, "éé") {
		t.Errorf("%d bytes: %q", len(sample), sample)
	}
}

var headCases = []struct {
	text, id, method string
	answers          bool
}{
	{text: `{"id":1,"method":"a/b"}`, id: `1`, method: `"a/b"`},
	{text: `{"params":{"id":7,"method":"no","x":["}",{"id":8}]},"method":"yes","id":"é"}`, id: `"é"`, method: `"yes"`},
	{text: ` { "id" : -1.5e3 , "result" : { "error" : [ ] } } `, id: `-1.5e3`, answers: true},
	{text: `{"error":{"code":1},"id":3}`, id: `3`, answers: true},
	{text: `{"\u0069d":"a\"b\\","m\u0065thod":"\u0061"}`, id: `"a\"b\\"`, method: `"\u0061"`},
	{text: `{"id":1,"id":2,"method":"a","method":null}`, id: `2`},
	{text: `{"ID":1,"Method":"a"}`},
	{text: `{"id":{"id":1},"method":["method"]}`},
	{text: `{"id":null,"method":5}`},
	{text: `[{"id":1}]`},
	{text: `"id"`},
	{text: `{}`},
	{text: ``},
	// Not quite JSON, but plain enough to answer it.
	{text: "{\"id\":1,\"method\":\"a\",\"params\":{\"text\":\"tab\there\"}}", id: `1`, method: `"a"`},
	{text: `{"id":1,"result":{"n":NaN}}`, id: `1`, answers: true},
	{text: `{"id":1} {"id":2}`, id: `1`},
	{text: `{"id":1x,"method":"a"}`, method: `"a"`},
	{text: `{"id":1,"method":"cut`, id: `1`},
	{text: `}}]]{"id":1`},
}

func TestLineHead(t *testing.T) {
	for _, c := range headCases {
		for _, size := range []int{1, 3, 1000} {
			var h lineHead
			for piece := range slices.Chunk([]byte(c.text), size) {
				h.feed(piece)
			}
			if string(h.id) != c.id || string(h.method) != c.method || h.answers != c.answers {
				t.Errorf("%s in pieces of %d: id %s, method %s, answers %v", c.text, size, h.id, h.method, h.answers)
			}
		}
	}
}

func TestLineHeadForgetsWhatIsLong(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	h := headOf([]byte(`{"` + long + `":1,"id":"` + long + `",` + strings.Repeat(" ", 1000) + `"method":"m","x":"` + long + `"}`))
	if h.id != nil || string(h.method) != `"m"` {
		t.Errorf("id %.20s, method %s", h.id, h.method)
	}
	if kept := cap(h.name) + cap(h.value); kept > 8*headLimit {
		t.Errorf("%d bytes are kept", kept)
	}
}

// FuzzLineHead compares with encoding/json, in which the last of two equal names holds too.
func FuzzLineHead(f *testing.F) {
	for _, c := range headCases {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h := headOf(text)
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return
		}
		same := func(name string, got json.RawMessage, ok func(json.RawMessage) bool) {
			want := members[name]
			if len(want) > headLimit || !ok(want) {
				want = nil
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s of %s: %s, want %s", name, text, got, want)
			}
		}
		same("id", h.id, isScalar)
		same("method", h.method, func(m json.RawMessage) bool { return bytes.HasPrefix(m, []byte(`"`)) })
		_, result := members["result"]
		_, failed := members["error"]
		if h.answers != (result || failed) {
			t.Errorf("%s answers: %v", text, h.answers)
		}
	})
}

// FuzzLineAdmitted reads any line as an agent's. What the SDK gets of it must be a message that the SDK can decode: on
// another one it would drop an answer, or leave a request without its goroutine.
func FuzzLineAdmitted(f *testing.F) {
	for _, c := range headCases {
		f.Add([]byte(c.text))
	}
	for _, c := range envelopeCases {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(`{"method":"$/cancel_request","params":{"requestId":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		g := newFlowControl(&agentStdin{to: nowhereWriter{}}, io.NopCloser(bytes.NewReader(text)), silentHandler{}, nil)
		g.calls["1"] = &pendingCall{key: "1"}
		for {
			line, err := g.lines.next()
			if err != nil {
				return
			}
			admitted := g.route(line)
			var message sdkMessage
			if admitted == nil {
				continue
			}
			if err := json.Unmarshal(admitted, &message); err != nil || message.ID == nil && message.Method == "" {
				t.Errorf("%q became %q: %v", line.text, admitted, err)
			}
			if len(admitted) > len(line.text)+200 || bytes.IndexByte(admitted, '\n') != len(admitted)-1 {
				t.Errorf("%d bytes became %q", len(line.text), admitted)
			}
			g.handled = g.passed
			g.bytes = 0
		}
	})
}

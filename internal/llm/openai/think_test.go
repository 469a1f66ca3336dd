package openai

import (
	"strings"
	"testing"

	"signoff/internal/llm/provider"
)

// heard keeps what a splitter hands on, with the tags put back where the kind changes.
type heard struct {
	text, thought strings.Builder
}

func (h *heard) Text(text string) error       { h.text.WriteString(text); return nil }
func (h *heard) Thought(thought string) error { h.thought.WriteString(thought); return nil }
func (h *heard) State([]provider.Part) error  { return nil }

func split(chunks ...string) (text, thought string) {
	var h heard
	s := thinkSplitter{sink: &h}
	for _, chunk := range chunks {
		if err := s.write(chunk); err != nil {
			panic(err)
		}
	}
	if err := s.flush(); err != nil {
		panic(err)
	}
	return h.text.String(), h.thought.String()
}

func TestThinkSplitter(t *testing.T) {
	tests := []struct{ in, text, thought string }{
		{"", "", ""},
		{"plain", "plain", ""},
		{"<think>a</think>b", "b", "a"},
		{" \n<think>a</think>\n\nb", " \n\n\nb", "a"},
		{"<think>a</think><think>b</think>c", "c", "ab"},
		{"<think>never closed", "", "never closed"},
		{"<think>a</thin", "", "a</thin"},
		{"<thin", "<thin", ""},
		{"<thinking>x", "<thinking>x", ""},
		{"a<think>b</think>c", "a<think>b</think>c", ""},
		{"<think></think>x", "x", ""},
		{"<think>a<</</think>x", "x", "a<</"},
		{"</think>x", "</think>x", ""},
		{"\n<think>Is 1 < 2? </thin Yes.</think>\n\nIt <b>is</b>.", "\n\n\nIt <b>is</b>.", "Is 1 < 2? </thin Yes."},
	}
	for _, test := range tests {
		for cut := range len(test.in) + 1 {
			if text, thought := split(test.in[:cut], test.in[cut:]); text != test.text || thought != test.thought {
				t.Errorf("%q cut at %d: text %q, thought %q", test.in, cut, text, thought)
			}
		}
		if text, thought := split(strings.Split(test.in, "")...); text != test.text || thought != test.thought {
			t.Errorf("%q byte by byte: text %q, thought %q", test.in, text, thought)
		}
	}
}

// FuzzThinkSplitter: however an answer is cut, the same comes out, and nothing is lost but the tags.
func FuzzThinkSplitter(f *testing.F) {
	f.Add("<think>a</think>b", uint8(3), uint8(9))
	f.Add("<think><think></think></think><think>", uint8(1), uint8(2))
	f.Add("\n</thi", uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, in string, a, b uint8) {
		first := min(int(a), len(in))
		second := min(first+int(b), len(in))
		text, thought := split(in)
		text3, thought3 := split(in[:first], in[first:second], in[second:])
		if text != text3 || thought != thought3 {
			t.Errorf("whole: %q %q, in three: %q %q", text, thought, text3, thought3)
		}
		lost := len(in) - len(text) - len(thought)
		opens, closes := strings.Count(in, thinkOpens), strings.Count(in, thinkCloses)
		if lost < 0 || lost > opens*len(thinkOpens)+closes*len(thinkCloses) {
			t.Errorf("%d bytes lost of %q: text %q, thought %q", lost, in, text, thought)
		}
		if opens == 0 && text != in {
			t.Errorf("%q became %q and %q", in, text, thought)
		}
	})
}

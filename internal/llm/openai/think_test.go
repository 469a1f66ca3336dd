package openai

import (
	"strings"
	"testing"

	"signoff/internal/llm/provider/providertest"
)

// heard keeps what a splitter hands on, with the tags put back where the kind changes.
type heard struct {
	text, thought strings.Builder
}

func (h *heard) Text(text string) error       { h.text.WriteString(text); return nil }
func (h *heard) Thought(thought string) error { h.thought.WriteString(thought); return nil }

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
		{"<thought>a</think></thought>b", "b", "a</think>"},
		{"<think>a</think><thought>b</thought>c", "c", "ab"},
		{"<thou", "<thou", ""},
		{"a<thought>b</thought>c", "a<thought>b</thought>c", ""},
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
		opens, most := 0, 0
		for _, known := range tags {
			opens += strings.Count(in, known.opens)
			most += strings.Count(in, known.opens)*len(known.opens) + strings.Count(in, known.closes)*len(known.closes)
		}
		if lost < 0 || lost > most {
			t.Errorf("%d bytes lost of %q: text %q, thought %q", lost, in, text, thought)
		}
		if opens == 0 && text != in {
			t.Errorf("%q became %q and %q", in, text, thought)
		}
	})
}

// TestThoughtsOfGoogle stand in the text, between tags of their own; a flag beside a piece makes its tag count also behind text.
func TestThoughtsOfGoogle(t *testing.T) {
	piece := func(text string, thinks bool) string {
		extra := `null`
		if thinks {
			extra = `{"google":{"thought":true}}`
		}
		return `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":` + providertest.InJSON(text) + `,"extra_content":` + extra + `}}]}` + "\n\n"
	}
	const signature = `data: {"choices":[{"delta":{"content":null,"extra_content":{"google":{"thought_signature":"sig"}}},"finish_reason":"stop","index":0}]}` + "\n\ndata: [DONE]\n\n"
	ear := &providertest.Ear{}
	body := piece("<thought>**Step**\n\nOne.", true) + piece(" Two.", true) + piece("</thought>The answer is ", false) + piece("<thought>391?", false) +
		piece("<thought>Sure.", true) + piece("</thought> Yes.", false) + signature
	got, err := dialect().Open(providertest.Stream(body)).Stream(t.Context(), providertest.SmallRequest(), ear)
	heard := ear.All(got)
	if err != nil || strings.Join(heard.Texts, "") != "The answer is <thought>391? Yes." || heard.Thought != "**Step**\n\nOne. Two.Sure." {
		t.Errorf("%v: %+v", err, heard)
	}
}

package anthropic

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/llm/provider/providertest"
)

// TestFieldsOfTheWrongType: a gateway that does not keep to the types loses what cannot be read, and nothing else.
func TestFieldsOfTheWrongType(t *testing.T) {
	block := func(fields string) string {
		return `{"type":"content_block_start","index":0,"content_block":{` + fields + `}}`
	}
	delta := func(fields string) string { return `{"type":"content_block_delta","index":0,"delta":{` + fields + `}}` }
	for event, want := range map[string]providertest.Heard{
		`null`:       {},
		`{"type":5}`: {},
		`{"type":"content_block_start","index":null,"content_block":[]}`:    {},
		`{"type":"content_block_delta","index":0,"delta":"x"}`:              {},
		`{"type":"message_start","message":5}`:                              {},
		`{"type":"message_start","message":{"usage":{"input_tokens":"5"}}}`: {},
		block(`"type":"text","text":"a"`):                                   {Texts: []string{"a"}},
		block(`"type":"text","text":null`):                                  {},
		block(`"type":"thinking","thinking":"a","signature":null`):          {Thought: "a"},
		block(`"type":"tool_use","id":5,"name":"bash","input":{}`):          {Calls: []string{"bash "}},
		delta(`"type":"text_delta","text":5`):                               {Texts: []string{"5"}},
		delta(`"type":"thinking_delta","thinking":"a"`):                     {Thought: "a"},
		delta(`"type":"signature_delta","signature":{}`):                    {},
	} {
		ear := &providertest.Ear{}
		body := "event: some\ndata: " + event + "\n\ndata: without a name\n\nevent: ping\ndata: ping\n\n" + fineAnswer
		got, err := dialect().Open(providertest.Stream(body)).Stream(t.Context(), providertest.SmallRequest(), ear)
		if diff := cmp.Diff(want, ear.All(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", event, err, diff)
		}
	}
}

package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
	"signoff/internal/llm/provider/providertest"
)

// TestFieldsOfTheWrongType: a gateway that does not keep to the types loses what cannot be read, and nothing else.
func TestFieldsOfTheWrongType(t *testing.T) {
	delta := func(fields string) string { return `{"choices":[{"index":0,"delta":{` + fields + `}}]}` }
	call := func(fields string) string { return delta(`"tool_calls":[{` + fields + `}]`) }
	usage := func(fields string) string { return `{"choices":[],"usage":{` + fields + `}}` }
	for chunk, want := range map[string]providertest.Heard{
		`null`:                                   {},
		`{"error":null}`:                         {},
		`{"choices":null}`:                       {},
		`{"choices":"none"}`:                     {},
		`{"choices":[null,1,"x",[]]}`:            {},
		`{"choices":[{"index":0,"delta":null}]}`: {},
		`{"choices":[{"index":0,"delta":"x"}]}`:  {},
		`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`:                   {Texts: []string{"a", "b"}},
		`{"choices":[{"index":"0","delta":{"content":"a"}}]}`:                                 {Texts: []string{"a"}},
		`{"choices":[{"index":null,"delta":{"content":"a"},"finish_reason":"length"}]}`:       {Texts: []string{"a"}, Finish: provider.FinishLength},
		delta(`"content":null,"refusal":null,"reasoning":null,"tool_calls":null,"role":null`): {},
		delta(`"content":5`):                                                                {Texts: []string{"5"}},
		delta(`"content":{"text": "a"}`):                                                    {Texts: []string{`{"text": "a"}`}},
		delta(`"content":"\u00e4\ud83d\udc4d\n"`):                                           {Texts: []string{"ä👍\n"}},
		delta(`"cont\u0065nt":"a"`):                                                         {Texts: []string{"a"}},
		delta(`"reasoning_content":5,"reasoning":"a"`):                                      {Thought: "a"},
		delta(`"reasoning_content":"","reasoning":"a"`):                                     {Thought: "a"},
		delta(`"reasoning":{"text":"a"},"content":"b"`):                                     {Texts: []string{"b"}},
		delta(`"tool_calls":{"id":"a"}`):                                                    {},
		call(`"index":"1","id":7,"function":{"name":"bash","arguments":{"command": "ls"}}`): {Calls: []string{`bash {"command": "ls"}`}},
		call(`"index":[],"id":null,"function":{"name":"bash","arguments":null}`):            {Calls: []string{"bash "}},
		call(`"index":"x","function":"bash"`):                                               {Calls: []string{" "}},
		usage(`"prompt_tokens":"12","completion_tokens":3.0,"total_tokens":"x"`):            {Usage: domain.Usage{InputTokens: new(int64(12)), OutputTokens: new(int64(3))}},
		usage(`"prompt_tokens":null,"completion_tokens":[],"prompt_tokens_details":5`):      {},
		`{"choices":[],"usage":5}`:                                                          {},
	} {
		ear := &providertest.Ear{}
		body := "data: " + chunk + "\n\n" + wire(providertest.Stopping("stop"))
		if want.Finish == provider.FinishLength {
			body = "data: " + chunk + "\n\n"
		}
		got, err := dialect().Open(providertest.Stream(body)).Stream(t.Context(), providertest.SmallRequest(), ear)
		if diff := cmp.Diff(want, ear.All(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", chunk, err, diff)
		}
	}
}

// TestAnErrorBesideAChoice is told as the error that it is, with its status: some gateways send both in one chunk.
func TestAnErrorBesideAChoice(t *testing.T) {
	const both = `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"error"}],"error":{"message":"Oh","code":402}}`
	ear := &providertest.Ear{}
	_, err := dialect().Open(providertest.Stream("data: "+both+"\n\n")).Stream(t.Context(), providertest.SmallRequest(), ear)
	if domain.CodeOf(err) != domain.CodeQuotaExceeded || len(ear.Texts) > 0 {
		t.Errorf("%v, and said %q", err, ear.Texts)
	}
}

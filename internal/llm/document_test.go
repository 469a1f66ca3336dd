package llm

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func TestDocument(t *testing.T) {
	for data, want := range map[string]error{
		`{}`: nil, ` {"a":[1,{"b":null}]} `: nil, `null`: nil,
		``: errGarbage, `{`: errGarbage, `{"a":1`: errGarbage, `{"a":}`: errGarbage, `{} {}`: errGarbage, "{\"a\":\"\n\"}": errGarbage,
		`[]`: errGarbage, `"text"`: errGarbage, `1`: errGarbage, `nonsense`: errGarbage,
		`{"a":[` + strings.Repeat(`[],`, 2*deepest) + `[]]}`: nil, // many, but not deep
	} {
		if _, err := document([]byte(data)); !errors.Is(err, want) {
			t.Errorf("%.50s: %v", data, err)
		}
	}
}

// TestNoDepthEndsTheServer: a stack that is full cannot be recovered from.
func TestNoDepthEndsTheServer(t *testing.T) {
	for _, bracket := range []string{"[", `{"a":`} {
		data := strings.Repeat(bracket, maxEventBytes/len(bracket))
		if _, err := document([]byte(data)); !errors.Is(err, errGarbage) {
			t.Errorf("%s: %v", bracket, err)
		}
	}
}

// TestOpenAIOfTheWrongType: a gateway that does not keep to the types loses what cannot be read, and nothing else.
func TestOpenAIOfTheWrongType(t *testing.T) {
	delta := func(fields string) string { return `{"choices":[{"index":0,"delta":{` + fields + `}}]}` }
	call := func(fields string) string { return delta(`"tool_calls":[{` + fields + `}]`) }
	usage := func(fields string) string { return `{"choices":[],"usage":{` + fields + `}}` }
	for chunk, want := range map[string]heardAnswer{
		`null`:                                   {},
		`{"error":null}`:                         {},
		`{"choices":null}`:                       {},
		`{"choices":"none"}`:                     {},
		`{"choices":[null,1,"x",[]]}`:            {},
		`{"choices":[{"index":0,"delta":null}]}`: {},
		`{"choices":[{"index":0,"delta":"x"}]}`:  {},
		`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"}}]}`:                   {Texts: []string{"a", "b"}},
		`{"choices":[{"index":"0","delta":{"content":"a"}}]}`:                                 {Texts: []string{"a"}},
		`{"choices":[{"index":null,"delta":{"content":"a"},"finish_reason":"length"}]}`:       {Texts: []string{"a"}, Finish: finishLength},
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
		usage(`"prompt_tokens":"12","completion_tokens":3.0,"total_tokens":"x"`):            {Usage: domain.Usage{InputTokens: count(12), OutputTokens: count(3)}},
		usage(`"prompt_tokens":null,"completion_tokens":[],"prompt_tokens_details":5`):      {},
		`{"choices":[],"usage":5}`:                                                          {},
	} {
		ear := &ear{}
		body := "data: " + chunk + "\n\n" + openAIWire(stopping("stop"))
		if want.Finish == finishLength {
			body = "data: " + chunk + "\n\n"
		}
		got, err := dialects()[0].open(stream(body)).Stream(t.Context(), smallRequest(), ear)
		if diff := cmp.Diff(want, ear.all(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", chunk, err, diff)
		}
	}
}

// TestAnErrorBesideAChoice is told as the error that it is, with its status: some gateways send both in one chunk.
func TestAnErrorBesideAChoice(t *testing.T) {
	const both = `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"error"}],"error":{"message":"Oh","code":402}}`
	ear := &ear{}
	_, err := dialects()[0].open(stream("data: "+both+"\n\n")).Stream(t.Context(), smallRequest(), ear)
	if domain.CodeOf(err) != domain.CodeQuotaExceeded || len(ear.texts) > 0 {
		t.Errorf("%v, and said %q", err, ear.texts)
	}
}

// TestAnthropicOfTheWrongType: the same of the other vendor.
func TestAnthropicOfTheWrongType(t *testing.T) {
	block := func(fields string) string {
		return `{"type":"content_block_start","index":0,"content_block":{` + fields + `}}`
	}
	delta := func(fields string) string { return `{"type":"content_block_delta","index":0,"delta":{` + fields + `}}` }
	for event, want := range map[string]heardAnswer{
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
		ear := &ear{}
		body := "event: some\ndata: " + event + "\n\ndata: without a name\n\nevent: ping\ndata: ping\n\n" + fineAnswer
		got, err := dialects()[1].open(stream(body)).Stream(t.Context(), smallRequest(), ear)
		if diff := cmp.Diff(want, ear.all(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", event, err, diff)
		}
	}
}

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
)

const nameSchema = `{"type":"object","properties":{"name":{"type":"string"},"id":{"type":"integer"}},"required":["name"]}`

// TestAQuestionIsAnsweredByAnotherProcess has one process ask, and another one get the answer: the server behind both is a new one, too.
func TestAQuestionIsAnsweredByAnotherProcess(t *testing.T) {
	var second json.RawMessage
	ask := func(requests string) *script {
		return &script{answers: map[string]func(json.RawMessage) string{"tools/call": func(params json.RawMessage) string {
			if !strings.Contains(string(params), "inputResponses") {
				return `{"resultType":"input_required","requestState":"opaque ✓","inputRequests":` + requests + `}`
			}
			second = params
			return `{"content":[{"type":"text","text":"done"}],"resultType":"complete"}`
		}}}
	}
	one := `{"k":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":` + nameSchema + `}}}`
	page := `{"k":{"method":"elicitation/create","params":{"mode":"url","message":"Sign in","url":"https://bank.example/in?x=1","elicitationId":"7"}}}`
	two := `{"a":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":` + nameSchema + `}},"b":{"method":"elicitation/create","params":{"mode":"url","message":"Sign in","url":"https://bank.example/"}}}`
	for name, row := range map[string]struct {
		requests, form string
		answer         domain.Answer
		want           string // inputResponses
	}{
		"yes": {one, `{"message":"Who?","schema":` + nameSchema + `}`,
			domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`{"name":"Ada","id":9007199254740993}`)},
			`{"k":{"action":"accept","content":{"name":"Ada","id":9007199254740993}}}`},
		"no":        {one, "", domain.Answer{Status: domain.ApprovalDenied, Content: json.RawMessage(`{"name":"x"}`)}, `{"k":{"action":"decline"}}`},
		"expired":   {one, "", domain.Answer{Status: domain.ApprovalExpired}, `{"k":{"action":"cancel"}}`},
		"withdrawn": {one, "", domain.Answer{Status: domain.ApprovalCancelled}, `{"k":{"action":"cancel"}}`},
		"a page": {page, `{"message":"Sign in","schema":{"type":"object","properties":{}},"url":"https://bank.example/in?x=1","host":"bank.example"}`,
			domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`{}`)}, `{"k":{"action":"accept"}}`},
		"two at once": {two, `{"message":"a: Who?\nb: Sign in","schema":{"properties":{"a":` + nameSchema + `,"b":{"type":"object","properties":{}}},"required":["a"],"type":"object"},"url":"https://bank.example/","host":"bank.example"}`,
			domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`{"a":{"name":"Ada"},"b":{}}`)},
			`{"a":{"action":"accept","content":{"name":"Ada"}},"b":{"action":"accept"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			asked, err := func() (Answer, error) {
				session, _ := played(t, stdioServer, ask(row.requests))
				defer session.Close()
				return session.Call(t.Context(), theCall(t))
			}()
			if err != nil || asked.Form == nil || asked.Repeat == nil {
				t.Fatalf("%+v, %v", asked, err)
			}
			if row.form != "" && !sameJSON(t, row.form, string(asked.Form)) {
				t.Errorf("form %s", asked.Form)
			}
			session, _ := played(t, stdioServer, ask(row.requests))
			again := theCall(t)
			again.Repeat, again.Answer = asked.Repeat, &row.answer
			if answer, err := session.Call(t.Context(), again); err != nil || answer.Result.Text != "done" {
				t.Fatalf("%+v, %v", answer, err)
			}
			var sent struct {
				Name           string
				Arguments      json.RawMessage
				InputResponses json.RawMessage
				RequestState   string
			}
			if err := json.Unmarshal(second, &sent); err != nil || sent.RequestState != "opaque ✓" || sent.Name != "t" || string(sent.Arguments) != "{}" {
				t.Errorf("%s", second)
			}
			if !sameJSON(t, row.want, string(sent.InputResponses)) {
				t.Errorf("sent %s", sent.InputResponses)
			}
		})
	}
}

// sameJSON compares documents whose numbers have to be spelled alike.
func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	read := func(text string) (value any) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return value
	}
	return cmp.Equal(read(a), read(b))
}

func TestQuestionsThatAreNotPutToAnybody(t *testing.T) {
	form := func(params string) string {
		return `{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":` + params + `}}}`
	}
	many := `{"resultType":"input_required","inputRequests":{`
	for i := range 17 {
		many += `"` + strings.Repeat("k", i+1) + `":{"method":"elicitation/create","params":{"message":"m"}},`
	}
	for want, result := range map[string]string{
		"at most 65536 are kept":       `{"resultType":"input_required","requestState":"` + strings.Repeat("s", 64<<10+1) + `","inputRequests":{"k":{"method":"elicitation/create","params":{"message":"m"}}}}`,
		"at most 65536 are shown":      form(`{"message":"` + strings.Repeat("m", 64<<10) + `"}`),
		"at most 16":                   strings.TrimSuffix(many, ",") + `}}`,
		`"sampling/createMessage"`:     `{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}`,
		`"roots/list"`:                 `{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list","params":{}}}}`,
		"cannot be read":               `{"resultType":"input_required","inputRequests":{"k":7}}`,
		"unknown mode":                 form(`{"mode":"voice","message":"m"}`),
		"the schema of the answer":     form(`{"message":"m","requestedSchema":{"type":7}}`),
		"no plain http":                form(`{"mode":"url","message":"m","url":"javascript:alert(1)"}`),
		"no plain http or":             form(`{"mode":"url","message":"m","url":"https://me:secret@bank.example/"}`),
		"no plain http or https":       form(`{"mode":"url","message":"m","url":"https://bank.example/\u202e"}`),
		"no plain http or https addre": form(`{"mode":"url","message":"m"}`),
		"several pages": `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example/"}},` +
			`"b":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://b.example/"}}}}`,
		`the type "task"`: `{"resultType":"task","taskId":"1","status":"working"}`,
	} {
		session, _ := played(t, stdioServer, &script{answers: map[string]func(json.RawMessage) string{"tools/call": says(result)}})
		answer, err := session.Call(t.Context(), theCall(t))
		if domain.CodeOf(err) != domain.CodeToolFailed || !strings.Contains(err.Error(), want) || answer.Form != nil {
			t.Errorf("%s: %.200v, %s", want, err, answer.Form)
		}
		session.Close()
	}
}

// TestWhatIsRepeatedBelongsToAQuestion refuses before anything is sent.
func TestWhatIsRepeatedBelongsToAQuestion(t *testing.T) {
	s := &script{}
	session, _ := played(t, stdioServer, s)
	yes := &domain.Answer{Status: domain.ApprovalApproved, Content: json.RawMessage(`[]`)}
	for _, row := range []struct {
		repeat string
		answer *domain.Answer
	}{{`7`, yes}, {`{}`, yes}, {`{"requests":[{"key":"k","mode":"form"}]}`, nil}, {`{"requests":[{"key":"k","mode":"form"}]}`, yes}} {
		c := theCall(t)
		c.Repeat, c.Answer = json.RawMessage(row.repeat), row.answer
		if _, err := session.Call(t.Context(), c); domain.CodeOf(err) != domain.CodeNotStarted || s.count("tools/call") != 0 {
			t.Errorf("%s: %v", row.repeat, err)
		}
	}
	older, _ := played(t, stdioServer, &script{revision: revisionLegacy})
	c := theCall(t)
	c.Repeat, c.Answer = json.RawMessage(`{"requests":[{"key":"k","mode":"url"}]}`), &domain.Answer{Status: domain.ApprovalDenied}
	if _, err := older.Call(t.Context(), c); domain.CodeOf(err) != domain.CodeToolFailed {
		t.Error(err)
	}
}

// TestABusyServer hands the request back without a question.
func TestABusyServer(t *testing.T) {
	busy := `{"resultType":"input_required","requestState":"later"}`
	for name, row := range map[string]struct {
		answer func(json.RawMessage) string
		want   domain.Code
		sent   int
	}{
		"at first":  {first(busy, busy, `{"content":[]}`), "", 3},
		"for ever":  {says(busy), domain.CodeToolFailed, maxReturns + 1},
		"too large": {says(`{"resultType":"input_required","requestState":"` + strings.Repeat("s", 64<<10+1) + `"}`), domain.CodeToolFailed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: map[string]func(json.RawMessage) string{"tools/call": row.answer}}
				session, _ := played(t, stdioServer, s)
				_, err := session.Call(t.Context(), theCall(t))
				if err == nil && row.want != "" || err != nil && domain.CodeOf(err) != row.want || s.count("tools/call") != row.sent {
					t.Errorf("%v after %d", err, s.count("tools/call"))
				}
				session.Close()
			})
		})
	}
}

// addAsking adds a tool that asks inside the call.
func addAsking(s *sdk.Server) {
	sdk.AddTool(s, &sdk.Tool{Name: "ask"}, func(ctx context.Context, request *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		answer, err := request.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "form", Message: "Who?", RequestedSchema: json.RawMessage(nameSchema)})
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: answer.Action + " " + string(domain.Encode(answer.Content))}}}, nil, nil
	})
}

// TestAQuestionInsideTheCall is how older revisions ask. The time of the call stands still meanwhile.
func TestAQuestionInsideTheCall(t *testing.T) {
	for text, answer := range map[string]domain.Answer{
		`accept {"name":"Ada"}`: {Status: domain.ApprovalApproved, Content: json.RawMessage(`{"name":"Ada"}`)},
		`decline null`:          {Status: domain.ApprovalDenied},
		`cancel null`:           {Status: domain.ApprovalExpired},
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				session := opened(t, stdioServer, withTools(revisionLegacy, addAsking))
				c := callOf(t, session, "ask", `{}`)
				c.Ask = func(form json.RawMessage) (domain.Answer, error) {
					if !sameJSON(t, `{"message":"Who?","schema":`+nameSchema+`}`, string(form)) {
						t.Errorf("%s", form)
					}
					time.Sleep(24 * time.Hour)
					return answer, nil
				}
				got, err := session.Call(t.Context(), c)
				if err != nil || got.Result.Text != text {
					t.Errorf("%+v, %v", got, err)
				}
				session.Close()
			})
		})
	}
}

func TestTheTimeOfACallGoesOnAfterAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{revision: revisionLegacy}
		s.answers = map[string]func(json.RawMessage) string{"tools/call": func(json.RawMessage) string {
			time.Sleep(time.Minute)
			s.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","message":"?"}}`)
			return silence
		}}
		session, _ := played(t, stdioServer, s)
		c := theCall(t)
		c.Ask = func(json.RawMessage) (domain.Answer, error) {
			time.Sleep(time.Hour)
			return domain.Answer{Status: domain.ApprovalDenied}, nil
		}
		began := time.Now()
		_, err := session.Call(t.Context(), c)
		if took := time.Since(began); domain.CodeOf(err) != domain.CodeOutcomeUnknown || took != time.Hour+DefaultCallTimeout {
			t.Errorf("%v after %s", err, took)
		}
		session.Close()
	})
}

// TestAQuestionEndsWithItsConnection has the server die while a person thinks. The call is not sent again.
func TestAQuestionEndsWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{revision: revisionLegacy}
		s.answers = map[string]func(json.RawMessage) string{"tools/call": func(json.RawMessage) string {
			s.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"mode":"form","message":"?"}}`)
			time.Sleep(time.Minute)
			return death
		}}
		session, programs := played(t, stdioServer, s)
		c := theCall(t)
		thinking := make(chan struct{})
		c.Ask = func(json.RawMessage) (domain.Answer, error) {
			<-thinking
			return domain.Answer{}, errors.New("withdrawn")
		}
		began := time.Now()
		_, err := session.Call(t.Context(), c)
		if domain.CodeOf(err) != domain.CodeOutcomeUnknown || time.Since(began) != time.Minute || s.count("tools/call") != 1 || programs.starts() != 1 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		close(thinking)
		session.Close()
	})
}

// TestAFloodOfQuestions puts few of them to a person, and declines those that come when nobody has called.
func TestAFloodOfQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{revision: revisionLegacy}
		ask := func() {
			for id := range 1000 {
				s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":{"mode":"form","message":"?"}}`, id))
			}
		}
		s.answers = map[string]func(json.RawMessage) string{
			"tools/list": func(json.RawMessage) string { ask(); return oneTool },
			"tools/call": func(json.RawMessage) string { ask(); return silence },
		}
		session, _ := played(t, stdioServer, s)
		c := theCall(t)
		var asked atomic.Int32
		c.Ask = func(json.RawMessage) (domain.Answer, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return domain.Answer{Status: domain.ApprovalDenied}, nil
		}
		if _, err := session.Call(t.Context(), c); domain.CodeOf(err) != domain.CodeOutcomeUnknown {
			t.Error(err)
		}
		if asked.Load() != maxOpenQuestions {
			t.Errorf("%d questions", asked.Load())
		}
		session.Close()
	})
}

// TestAPageThatHasToBeOpenedFirst is an error of the revision 2025-11-25. A person learns of the page before anything opens it.
func TestAPageThatHasToBeOpenedFirst(t *testing.T) {
	for address, want := range map[string]string{
		"https://bank.example/in": "of the host bank.example first, which is https://bank.example/in.",
		"javascript:alert(1)":     `answered with the error "sign in"`,
	} {
		s := &script{revision: revisionLegacy}
		session := opened(t, stdioServer, &programs{run: func(streams io.ReadWriteCloser) {
			s.answers = map[string]func(json.RawMessage) string{"tools/call": func(json.RawMessage) string {
				s.send(`{"jsonrpc":"2.0","id":4,"error":{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url","message":"m","url":"` + address + `"}]}}}`)
				return silence
			}}
			s.run(streams)
		}})
		_, err := session.Call(t.Context(), theCall(t))
		if domain.CodeOf(err) != domain.CodeToolFailed || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}

// TestRootsAreRefused has a server ask for the roots that nobody has declared. The SDK would answer with none.
func TestRootsAreRefused(t *testing.T) {
	session := opened(t, stdioServer, withTools(revisionLegacy, func(server *sdk.Server) {
		sdk.AddTool(server, &sdk.Tool{Name: "roots"}, func(ctx context.Context, request *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			_, err := request.Session.ListRoots(ctx, nil) //nolint:staticcheck // servers of the older revision may still ask
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint(err)}}}, nil, nil
		})
	}))
	answer, err := call(t, session, "roots", `{}`)
	if err != nil || !strings.Contains(answer.Result.Text, "method not found") {
		t.Errorf("%q, %v", answer.Result.Text, err)
	}
}

package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func TestBurstMakesTheAgentWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 100_000
		next, slow := 0, make(chan struct{})
		r := newBubbleRig(t, scriptedHandler{onNotified: func(n int) {
			<-slow
			if n != next {
				t.Errorf("update %d in the place of %d", n, next)
			}
			next++
			if n%1000 == 0 {
				time.Sleep(time.Millisecond)
			}
		}}, Options{})
		var sent atomic.Int64
		outcome := r.calling(t.Context(), "session/prompt")
		go func() {
			id := r.getsID()
			for n := range all {
				r.sends(wireUpdate(n))
				sent.Add(1)
			}
			r.sends(wireResult(id, `"end"`))
		}()

		synctest.Wait()
		if most := int64(notificationLimit + 64<<10/len(wireUpdate(0)) + 2); sent.Load() > most {
			t.Errorf("the agent got rid of %d updates, and none is handled", sent.Load())
		}
		close(slow)
		if got := <-outcome; string(got.Result) != `"end"` || got.Err != nil || next != all {
			t.Errorf("%d updates handled, then %s, %v", next, got.Result, got.Err)
		}
	})
}

// A few large updates wait as many small ones do.
func TestLargeUpdatesMakeTheAgentWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newFlowControl(&agentStdin{to: nowhereWriter{}}, io.NopCloser(strings.NewReader("")), silentHandler{}, nil)
		large := envelope{method: json.RawMessage(`"m"`), params: make(json.RawMessage, lineLimit)}
		admitted := make(chan []byte)
		go func() {
			for range 10 {
				admitted <- g.notification(large)
			}
		}()
		for range notificationBytes/lineLimit + 1 {
			<-admitted
		}
		synctest.Wait()
		select {
		case <-admitted:
			t.Error("one more is admitted")
		default:
		}
		for range 10 - notificationBytes/lineLimit - 1 {
			g.done(lineLimit)
			<-admitted
		}
	})
}

func TestRequestWaitsForTheUpdatesAheadOfItAndHoldsUpNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen peerDiary
		slow, decided := make(chan struct{}), make(chan struct{})
		r := newBubbleRig(t, scriptedHandler{
			onNotified: func(n int) { <-slow; seen.add(fmt.Sprint("update ", n)) },
			onAsked: func(_ context.Context, method string) (any, error) {
				seen.add(method)
				if method == "permission" {
					<-decided
				}
				return method, nil
			},
		}, Options{})

		r.sends(wireUpdate(1), wireUpdate(2), wireRequest(`"p"`, "permission"), wireUpdate(3), wireRequest(`7`, "read"))
		synctest.Wait()
		if got := seen.take(); got != nil {
			t.Errorf("before any update is handled: %q", got)
		}
		slow <- struct{}{}
		slow <- struct{}{}
		synctest.Wait()
		if diff := cmp.Diff([]string{"update 1", "update 2", "permission"}, seen.take()); diff != "" {
			t.Error(diff)
		}
		slow <- struct{}{}
		if got := r.gets(); string(*got.ID) != `7` || string(got.Result) != `"read"` {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff([]string{"update 3", "read"}, seen.take()); diff != "" {
			t.Error(diff)
		}
		close(decided)
		if got := r.gets(); string(*got.ID) != `"p"` || string(got.Result) != `"permission"` {
			t.Errorf("%+v", got)
		}
	})
}

// The SDK starts the goroutines of requests in any order. Each must wait for its own updates, not for another one's.
func TestEveryRequestKnowsItsPlace(t *testing.T) {
	var handled atomic.Int64
	r := newPipeRig(t, scriptedHandler{
		onNotified: func(int) { runtime.Gosched(); handled.Add(1) },
		onAsked: func(_ context.Context, method string) (any, error) {
			var ahead int64
			_, _ = fmt.Sscan(method, &ahead)
			if handled.Load() < ahead {
				t.Errorf("asked after %d updates, want %d", handled.Load(), ahead)
			}
			return nil, nil
		},
	}, Options{})
	const requests = 5000
	go func() {
		updates := 0
		for id := range requests {
			for range rand.IntN(3) {
				r.sends(wireUpdate(updates))
				updates++
			}
			r.sends(wireRequest(fmt.Sprint(id), fmt.Sprint(updates)))
		}
	}()
	for range requests {
		r.gets()
	}
}

func TestAnswerWaitsForTheUpdatesAheadOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan struct{})
		r := newBubbleRig(t, scriptedHandler{onNotified: func(int) { <-slow }}, Options{})
		outcome := r.calling(t.Context(), "session/prompt")
		r.sends(wireUpdate(1), wireUpdate(2), wireResult(r.getsID(), `{}`))
		for range 2 {
			synctest.Wait()
			if len(outcome) > 0 {
				t.Fatal("the answer came before the updates were handled")
			}
			slow <- struct{}{}
		}
		<-outcome
	})
}

// stream writes a line of the size, in pieces, and says how much memory the process used meanwhile.
func (r *peerRig) stream(head string, size int, tail string) (used uint64) {
	runtime.GC()
	piece, least := strings.Repeat(`x\"}{`, 1<<18), heapInUse()
	r.writes(head)
	for range size / len(piece) {
		r.writes(piece)
		used = max(used, heapInUse()-least)
	}
	r.writes(tail + "\n")
	return used
}

func (r *peerRig) writes(text string) { _, _ = io.WriteString(r.out, text) }

func heapInUse() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestLineOfAHundredMegabytesIsRefused(t *testing.T) {
	expectNoLog(t)
	disturbances := make(chan ProtocolError, 1)
	r := newPipeRig(t, scriptedHandler{onDisturbed: func(d ProtocolError) { disturbances <- d }}, Options{})

	used := r.stream(`{"jsonrpc":"2.0","params":{"id":1,"a":"`, 100<<20, `"},"method":"fs/write_text_file","id":"w"}`)
	if used > 64<<20 {
		t.Errorf("%d MiB were used", used>>20)
	}
	if got := r.gets(); string(*got.ID) != `"w"` || got.Error == nil || got.Error.Code != -32600 || !strings.Contains(got.Error.Message, "too large") {
		t.Errorf("%+v %+v", got, got.Error)
	}
	got := <-disturbances
	if got.Kind != lineIsTooLong || got.ID != `"w"` || got.Method != "fs/write_text_file" || got.Size < 99<<20 || len(got.Sample) > sampleLimit {
		t.Errorf("%+v", got)
	}
}

func TestLinesThatAreTooLong(t *testing.T) {
	disturbances := make(chan ProtocolError, 1)
	notified := make(chan int, 1)
	r := newPipeRig(t, scriptedHandler{
		onNotified:  func(n int) { notified <- n },
		onDisturbed: func(d ProtocolError) { disturbances <- d },
	}, Options{})

	outcome := r.calling(t.Context(), "fs/read")
	id := r.getsID()
	r.stream(`{"jsonrpc":"2.0","result":{"a":"`, 9<<20, `"},"id":`+id+`}`)
	var refused *acp.RequestError
	if got := <-outcome; !errors.As(got.Err, &refused) || !strings.Contains(refused.Message, "too large") {
		t.Errorf("%.100s, %v", got.Result, got.Err)
	}
	if got := <-disturbances; got.Kind != lineIsTooLong || got.ID != id {
		t.Errorf("%+v", got)
	}
	r.stream(`{"jsonrpc":"2.0","method":"session/update","params":{"n":1,"a":"`, 9<<20, `"}}`)
	if got := <-disturbances; got.Kind != lineIsTooLong || got.ID != "" || got.Method != "session/update" {
		t.Errorf("%+v", got)
	}
	r.stream(`no message `, 9<<20, ``)
	if got := <-disturbances; got.Kind != lineIsTooLong || got.ID != "" || got.Method != "" || got.Count != 3 {
		t.Errorf("%+v", got)
	}
	r.sends(wireUpdate(2))
	if got := <-notified; got != 2 {
		t.Errorf("update %d is handled", got)
	}
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// TestLinesThatAreTooDeep: whoever waits for one is told why, and nothing of it goes any further than as the beginning of a text.
func TestLinesThatAreTooDeep(t *testing.T) {
	var seen peerDiary
	r := newPipeRig(t, scriptedHandler{
		onNotified:  func(n int) { seen.add(fmt.Sprint("update ", n)) },
		onAsked:     func(_ context.Context, method string) (any, error) { return method, nil },
		onDisturbed: func(d ProtocolError) { seen.add(fmt.Sprint(d.Kind, " ", d.Method, d.ID)) },
	}, Options{})
	update := func(n, levels int) string {
		return fmt.Sprintf(`{"method":"u","params":{"n":%d,"x":%s}}`, n, nested(levels-2))
	}

	outcome := r.calling(t.Context(), "initialize")
	r.sends(wireResult(r.getsID(), nested(domain.MaxDepth)))
	var refused *acp.RequestError
	if got := <-outcome; !errors.As(got.Err, &refused) || !strings.Contains(refused.Message, "nested too deep") {
		t.Errorf("%.100s, %v", got.Result, got.Err)
	}
	r.sends(update(1, domain.MaxDepth), update(2, domain.MaxDepth+1), update(3, 100_000), nested(1000))
	r.sends(`{"id":7,"method":"ask","params":` + nested(domain.MaxDepth) + `}`)
	if got := r.gets(); string(*got.ID) != "7" || got.Error == nil || got.Error.Code != -32600 || !strings.Contains(got.Error.Message, "at most 64 levels") {
		t.Errorf("%+v", got)
	}
	r.sends(`{"id":8,"method":"ask","params":` + nested(domain.MaxDepth-1) + `}`)
	if got := r.gets(); string(*got.ID) != "8" || string(got.Result) != `"ask"` {
		t.Errorf("%+v", got)
	}
	got := slices.DeleteFunc(seen.take(), func(entry string) bool { return strings.HasSuffix(entry, "1") })
	if diff := cmp.Diff([]string{"tooDeep u", "tooDeep u", "noise ", "tooDeep ask7"}, got); diff != "" {
		t.Error(diff)
	}
}

// The largest line that is read must also pass the SDK.
func TestLargestLine(t *testing.T) {
	r := newPipeRig(t, silentHandler{}, Options{})
	outcome := r.calling(t.Context(), "fs/read")
	line := wireResult(r.getsID(), `"`)
	text := strings.Repeat("<", lineLimit-len(line)-2)
	r.sends(line[:len(line)-1] + text + `"}`)
	if got := <-outcome; len(got.Result) != len(text)+2 || got.Err != nil {
		t.Errorf("%d of %d bytes, %v", len(got.Result), len(text)+2, got.Err)
	}
}

func TestNoiseIsNoEnd(t *testing.T) {
	expectNoLog(t)
	var seen peerDiary
	r := newPipeRig(t, scriptedHandler{
		onNotified: func(n int) { seen.add(fmt.Sprint("update ", n)) },
		onAsked:    func(context.Context, string) (any, error) { return "ok", nil },
		onDisturbed: func(d ProtocolError) {
			seen.add(fmt.Sprintf("%d %s %d %s%s %.12s", d.Count, d.Kind, d.Size, d.ID, d.Method, d.Sample))
			if len(d.Sample) > sampleLimit {
				t.Errorf("a sample of %d bytes", len(d.Sample))
			}
		},
	}, Options{})
	outcome := r.calling(t.Context(), "initialize")
	id := r.getsID()
	r.sends(
		"Listening on stdio, "+strings.Repeat("-", 1000), "", "  \r", `{"level":30,"id":1,"msg":"log"}`, "[]", "\xff\xfe",
		`{"method":"cut`, `{"method":"$/cancel_request","params":7}`, strings.Repeat("[", 20_000),
		wireUpdate(1)+"\r", "\ufeff"+wireUpdate(2), "{\"method\":\"u\",\"params\":{\"n\":3,\"text\":\"\xff\"}}",
	)
	r.sends("{\"id\":5,\"method\":\"m\",\"params\":{\"text\":\"tab\there\"}}")
	if got := r.gets(); string(*got.ID) != `5` || got.Error == nil || got.Error.Code != -32700 {
		t.Errorf("%+v", got)
	}
	r.sends(`{"id":` + id + `,"result":NaN}`)
	if got := <-outcome; got.Err == nil || !strings.Contains(got.Err.Error(), "not valid JSON") {
		t.Errorf("%s, %v", got.Result, got.Err)
	}
	r.writes(wireUpdate(4)) // and no newline
	r.exits()
	<-r.Done()

	var updates []string
	got := slices.DeleteFunc(seen.take(), func(entry string) bool {
		is := strings.HasPrefix(entry, "update")
		if is {
			updates = append(updates, entry)
		}
		return is
	})
	if diff := cmp.Diff([]string{"update 1", "update 2", "update 3", "update 4"}, updates); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"1 noise 1021  Listening on", "2 noise 32  {\"level\":30,", "3 noise 3  []", "4 noise 3  ?", `5 noise 15  {"method":"c`,
		`6 noise 41 $/cancel_request {"method":"$`, "7 noise 20001  [[[[[[[[[[[[", "8 notUTF8 43 u {\"method\":\"u", `9 broken 51 5m {"id":5,"met`,
		`10 broken 22 1 {"id":1,"res`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswerBeforeTheExitIsNeverLost(t *testing.T) {
	for round := range 1000 {
		handled := 0
		r := newPipeRig(t, scriptedHandler{onNotified: func(int) { runtime.Gosched(); handled++ }}, Options{})
		first, second := r.calling(t.Context(), "session/prompt"), r.calling(t.Context(), "session/load")
		ids := []string{r.getsID(), r.getsID()}
		for n := range round % 4 {
			r.sends(wireUpdate(n))
		}
		r.sends(wireResult(ids[0], `1`), wireResult(ids[1], `1`))
		r.exits()
		for _, outcome := range []<-chan Answer{first, second} {
			if got := <-outcome; got.Err != nil || string(got.Result) != `1` || handled != round%4 {
				t.Fatalf("round %d: %s, %v, %d updates", round, got.Result, got.Err, handled)
			}
		}
		r.ends()
	}
}

func TestIDsThatFitNothingAreHarmless(t *testing.T) {
	disturbances := make(chan ProtocolError, 10)
	r := newPipeRig(t, scriptedHandler{
		onAsked:     func(_ context.Context, method string) (any, error) { return method, nil },
		onDisturbed: func(d ProtocolError) { disturbances <- d },
	}, Options{})
	outcome := r.calling(t.Context(), "session/prompt")
	id := r.getsID()
	r.sends(wireResult(`99`, `0`), wireResult(`"`+id+`"`, `0`), wireResult(`-1e999`, `0`), wireResult(id+".0", `1`), wireResult(id, `2`))
	if got := <-outcome; got.Err != nil || string(got.Result) != `1` {
		t.Errorf("%s, %v", got.Result, got.Err)
	}
	for _, want := range []string{`99`, `"` + id + `"`, `-1e999`, id} {
		if got := <-disturbances; got.Kind != lineIsUnexpected || got.ID != want {
			t.Errorf("%+v, want id %s", got, want)
		}
	}
	for _, id := range []string{`"a"`, `"a"`, `1`, `1`, `1.5`, `""`, `-1e999`, `"` + strings.Repeat("i", 1000) + `"`} {
		r.sends(wireRequest(id, "m"), wireRequest(id, "m"))
		for range 2 {
			if got := r.gets(); string(*got.ID) != id || string(got.Result) != `"m"` {
				t.Errorf("%+v", got)
			}
		}
	}
}

// waitsForEnd is asked and waits until it is told that nobody wants to know any more.
func waitsForEnd(started chan<- string) func(context.Context, string) (any, error) {
	return func(ctx context.Context, method string) (any, error) {
		started <- method
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}

func TestWithdrawalEndsOneRequest(t *testing.T) {
	started := make(chan string)
	r := newPipeRig(t, scriptedHandler{onAsked: waitsForEnd(started)}, Options{})
	withdraw := func(id string) string {
		return `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + id + `}}`
	}
	r.sends(wireRequest(`"1"`, "permission"))
	<-started
	r.sends(wireRequest(`1`, "permission"))
	<-started
	// An id that is free again belongs to the new request. The SDK would have forgotten that one now and then.
	for range 200 {
		r.sends(withdraw(`1.0`))
		if got := r.gets(); string(*got.ID) != `1` || got.Error == nil || got.Error.Code != -32800 {
			t.Fatalf("%+v", got)
		}
		r.sends(wireRequest(`1`, "permission"))
		<-started
	}
	r.sends(withdraw(`7`), withdraw(`"7"`), withdraw(`"1"`))
	if got := r.gets(); string(*got.ID) != `"1"` || got.Error == nil || got.Error.Code != -32800 {
		t.Errorf("%+v", got)
	}
	r.sends(withdraw(`1`))
	if got := r.gets(); string(*got.ID) != `1` || got.Error.Code != -32800 {
		t.Errorf("%+v", got)
	}
}

// Neither updates that wait nor requests that wait for them hold a withdrawal up, and it takes no place in the queue.
func TestWithdrawalOvertakesWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, slow := make(chan string, 1), make(chan struct{})
		r := newBubbleRig(t, scriptedHandler{onAsked: waitsForEnd(started), onNotified: func(int) { <-slow }}, Options{})
		r.sends(wireRequest(`1`, "early"))
		<-started
		for n := range notificationLimit {
			r.sends(wireUpdate(n))
		}
		r.sends(wireRequest(`2`, "late"))
		for range 2 * notificationLimit {
			r.sends(`{"method":"$/cancel_request","params":{"requestId":3}}`)
		}
		for _, id := range []string{`1`, `2`} {
			r.sends(`{"method":"$/cancel_request","params":{"requestId":` + id + `}}`)
			if got := r.gets(); string(*got.ID) != id || got.Error == nil || got.Error.Code != -32800 {
				t.Errorf("%+v", got)
			}
		}
		if len(started) > 0 {
			t.Error("a request was asked that was withdrawn before")
		}
		close(slow)
		outcome := r.calling(t.Context(), "m")
		r.sends(wireResult(r.getsID(), `{}`))
		if got := <-outcome; got.Err != nil {
			t.Error(got.Err)
		}
	})
}

// A handler may answer a request that was withdrawn: the answer goes out as it is.
func TestWithdrawnRequestMayHaveAResult(t *testing.T) {
	started := make(chan string)
	r := newPipeRig(t, scriptedHandler{onAsked: func(ctx context.Context, method string) (any, error) {
		started <- method
		<-ctx.Done()
		return map[string]string{"outcome": "cancelled"}, nil
	}}, Options{})
	r.sends(wireRequest(`1`, "permission"))
	<-started
	r.sends(`{"method":"$/cancel_request","params":{"requestId":1}}`)
	if got := r.gets(); string(got.Result) != `{"outcome":"cancelled"}` || got.Error != nil {
		t.Errorf("%+v", got)
	}
}

func TestErrorsThatTheAgentGets(t *testing.T) {
	meant := &acp.RequestError{Code: -32002, Message: "no such file", Data: map[string]any{"path": "/x"}}
	for name, c := range map[string]struct {
		result any
		err    error
		want   string
	}{
		"meant for it":    {nil, meant, `{"code":-32002,"message":"no such file","data":{"path":"/x"}}`},
		"wrapped":         {nil, fmt.Errorf("secret: %w", meant), `{"code":-32002,"message":"no such file","data":{"path":"/x"}}`},
		"another one":     {nil, errors.New("secret"), `{"code":-32603,"message":"Internal error"}`},
		"a cancelled one": {nil, context.Canceled, `{"code":-32603,"message":"Internal error"}`},
		"no JSON":         {func() {}, nil, `{"code":-32603,"message":"Internal error"}`},
		"no JSON inside":  {nil, &acp.RequestError{Code: 1, Data: func() {}}, `{"code":-32603,"message":"Internal error"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPipeRig(t, scriptedHandler{onAsked: func(context.Context, string) (any, error) { return c.result, c.err }}, Options{})
			r.sends(wireRequest(`1`, "m"))
			line, err := r.in.ReadString('\n')
			if want := `{"jsonrpc":"2.0","id":1,"error":` + c.want + "}\n"; line != want || err != nil {
				t.Errorf("%s, want %s, %v", line, want, err)
			}
		})
	}
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		decided := make(chan struct{})
		r := newBubbleRig(t, scriptedHandler{onAsked: func(context.Context, string) (any, error) { <-decided; return "ok", nil }}, Options{})
		for id := range requestLimit {
			r.sends(wireRequest(fmt.Sprint(id), "permission"))
		}
		r.sends(wireRequest(`"more"`, "permission"))
		if got := r.gets(); string(*got.ID) != `"more"` || got.Error == nil || got.Error.Code != -32600 {
			t.Errorf("%+v", got)
		}
		close(decided)
		for range requestLimit {
			r.gets()
		}
		r.sends(wireRequest(`"`+strings.Repeat("again", 100)+`"`, "permission"))
		if got := r.gets(); string(got.Result) != `"ok"` {
			t.Errorf("%+v", got)
		}
		synctest.Wait()
		if g := r.flow; g.open != 0 || g.asking != 0 || len(g.requests) != 0 {
			t.Errorf("%d, %d bytes, %d are counted still", g.open, g.asking, len(g.requests))
		}
	})
}

func TestLargeRequestsAreRefusedTogether(t *testing.T) {
	g := newFlowControl(&agentStdin{to: nowhereWriter{}}, io.NopCloser(strings.NewReader("")), silentHandler{}, nil)
	large := envelope{id: json.RawMessage("1"), method: json.RawMessage(`"m"`), params: make(json.RawMessage, lineLimit)}
	for n := range requestBytes/lineLimit + 2 {
		if taken, want := g.register(large), n <= requestBytes/lineLimit; taken != want {
			t.Errorf("large request %d is taken: %v", n, taken)
		}
	}
}

package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
)

func TestCallCarriesParamsResultsAndErrors(t *testing.T) {
	const verbatim = `{"big":12345678901234567890,"a":"<","a":2}`
	var seen peerDiary
	r := newPipeRig(t, silentHandler{}, Options{Tap: func(way Direction, raw []byte) { seen.add(fmt.Sprintf("%s %s", way, raw)) }})
	go func() {
		r.gets()
		r.sends(wireResult(r.getsID(), verbatim))
		r.sends(`{"jsonrpc":"2.0","id":` + r.getsID() + `,"error":{"code":-32000,"message":"Authentication required","data":{"a":1}}}`)
	}()
	if err := r.Notify(t.Context(), "session/cancel", map[string]string{"sessionId": "s"}); err != nil {
		t.Error(err)
	}
	if got, err := r.Call(t.Context(), "initialize", map[string]int{"protocolVersion": 1}); string(got) != verbatim || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	_, err := r.Call(t.Context(), "session/new", nil)
	var refused *acp.RequestError
	if !errors.As(err, &refused) {
		t.Fatal(err)
	}
	want := &acp.RequestError{Code: -32000, Message: "Authentication required", Data: map[string]any{"a": 1.0}}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Error(diff)
	}
	shown := []string{
		`toAgent {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`,
		`toAgent {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`,
		`fromAgent {"jsonrpc":"2.0","id":1,"result":` + verbatim + `}`,
		`toAgent {"jsonrpc":"2.0","id":2,"method":"session/new"}`,
		`fromAgent {"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required","data":{"a":1}}}`,
	}
	if diff := cmp.Diff(shown, seen.take()); diff != "" {
		t.Error(diff)
	}
	if _, err := r.Call(t.Context(), "m", func() {}); err == nil || errors.As(err, &refused) {
		t.Errorf("parameters that are no JSON: %v", err)
	}
	if err := r.Notify(t.Context(), "m", func() {}); err == nil || errors.As(err, &refused) {
		t.Errorf("parameters that are no JSON: %v", err)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	r := newPipeRig(t, silentHandler{}, Options{})
	const calls = 500
	go func() {
		for range calls {
			message := r.gets()
			r.sends(wireResult(string(*message.ID), string(message.Params)))
		}
	}()
	var all sync.WaitGroup
	for n := range calls {
		all.Go(func() {
			if got, err := r.Call(t.Context(), "echo", n); string(got) != fmt.Sprint(n) || err != nil {
				t.Errorf("%s, want %d, %v", got, n, err)
			}
		})
	}
	all.Wait()
}

func TestEndOfACallIsNoEndOfTheConnection(t *testing.T) {
	disturbances := make(chan ProtocolError, 1)
	r := newPipeRig(t, scriptedHandler{onDisturbed: func(d ProtocolError) { disturbances <- d }}, Options{})
	late := errors.New("the agent did not start in time")
	ctx, cancel := context.WithCancelCause(t.Context())
	outcome := r.calling(ctx, "initialize")
	id := r.getsID()
	cancel(late)
	if got := <-outcome; !errors.Is(got.Err, late) {
		t.Error(got.Err)
	}
	if got := r.gets(); got.Method != "$/cancel_request" || got.ID != nil || string(got.Params) != `{"requestId":`+id+`}` {
		t.Errorf("%+v", got)
	}
	r.sends(wireResult(id, `1`), wireResult(id, `2`)) // the first one is owed
	if got := <-disturbances; got.Kind != lineIsUnexpected || got.ID != id || got.Count != 1 {
		t.Errorf("%+v", got)
	}
	outcome = r.calling(t.Context(), "session/new")
	got := r.gets() // and nothing before it: no session/cancel
	if got.Method != "session/new" {
		t.Fatalf("%+v", got)
	}
	r.sends(wireResult(string(*got.ID), `2`))
	if got := <-outcome; string(got.Result) != `2` || got.Err != nil {
		t.Errorf("%s, %v", got.Result, got.Err)
	}
	if len(disturbances) > 0 {
		t.Error("the answer that was owed disturbed too")
	}
	if _, err := r.Call(ctx, "session/new", nil); !errors.Is(err, late) {
		t.Error(err)
	}
	if err := r.Notify(ctx, "session/cancel", nil); !errors.Is(err, late) {
		t.Error(err)
	}
}

var wireLarge = strings.Repeat("x", 1<<20)

func TestAgentThatDoesNotReadIsGivenUp(t *testing.T) {
	r := newPipeRig(t, silentHandler{}, Options{WriteTimeout: 50 * time.Millisecond})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := r.Call(t.Context(), "session/prompt", wireLarge); !errors.Is(err, ErrGone) || !errors.Is(err, ErrNotReading) {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := r.Notify(t.Context(), "session/cancel", wireLarge); !errors.Is(err, ErrGone) || !errors.Is(err, ErrNotReading) {
				t.Error(err)
			}
		})
	}
	begin := time.Now()
	all.Wait()
	<-r.Done()
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if !errors.Is(r.Cause(), ErrNotReading) {
		t.Error(r.Cause())
	}
	if _, err := r.out.Write([]byte("anybody?\n")); err == nil {
		t.Error("the agent writes on to nobody, and may block there for ever")
	}
}

func TestContextEndsABlockedCall(t *testing.T) {
	r := newPipeRig(t, silentHandler{}, Options{WriteTimeout: time.Hour})
	for range 3 { // the first one in the write, the next ones behind it
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if _, err := r.Call(ctx, "session/prompt", wireLarge); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := r.Notify(ctx, "session/cancel", wireLarge); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
	}
	select {
	case <-r.Done():
		t.Error("the connection ended:", r.Cause())
	default:
	}
}

// An agent may write all it has to say before it reads on. While the handler keeps it from that, it is not to blame.
func TestAgentThatIsHeldUpIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, scriptedHandler{onNotified: func(n int) {
			if n == 0 {
				time.Sleep(time.Minute)
			}
		}}, Options{})
		outcome := r.calling(t.Context(), "session/prompt")
		for n := range 2000 {
			r.sends(wireUpdate(n))
		}
		r.sends(wireResult(r.getsID(), `1`))
		if got := <-outcome; got.Err != nil {
			t.Error(got.Err)
		}
	})
}

func TestSlowReaderIsNotGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newBubbleRig(t, silentHandler{}, Options{})
		written := make(chan error, 1)
		go func() { written <- r.Notify(t.Context(), "m", wireLarge) }()
		sip := make([]byte, 4096)
		for left := len(wireLarge); left > 0; {
			time.Sleep(9 * time.Second)
			n, err := r.in.Read(sip)
			if err != nil {
				t.Fatal(err)
			}
			left -= n
		}
		go func() { _, _ = io.Copy(io.Discard, r.in) }()
		if err := <-written; err != nil {
			t.Error(err)
		}
	})
}

// fullPipe takes a number of bytes, and has room for no more.
type fullPipe struct{ room, timeouts int }

func (f *fullPipe) SetWriteDeadline(time.Time) error { return nil }

func (f *fullPipe) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	if n < len(p) {
		f.timeouts++
		return n, os.ErrDeadlineExceeded
	}
	return n, nil
}

func TestOneTimeoutIsEnough(t *testing.T) {
	pipe := &fullPipe{room: 64 << 10}
	stdin := newFlowControl(&agentStdin{to: pipe}, io.NopCloser(strings.NewReader("")), silentHandler{}, nil).stdin
	if err := stdin.write([]byte(wireLarge)); !errors.Is(err, ErrNotReading) || pipe.timeouts != 1 {
		t.Errorf("%v after %d timeouts", err, pipe.timeouts)
	}
}

func TestTheEndReachesABlockedWrite(t *testing.T) {
	for name, end := range map[string]func(*peerRig){
		"exit":    (*peerRig).exits,
		"give up": func(r *peerRig) { r.Close(errors.New("somebody said so")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newBubbleRig(t, silentHandler{}, Options{WriteTimeout: time.Hour})
				begin, written := time.Now(), make(chan error, 1)
				go func() { written <- r.Notify(t.Context(), "m", wireLarge) }()
				synctest.Wait()
				end(r)
				if err := <-written; !errors.Is(err, ErrGone) || time.Since(begin) > 0 {
					t.Errorf("%v after %v", err, time.Since(begin))
				}
			})
		})
	}
}

// Where the context ends and the SDK answers for it at once, the context says why.
func TestCauseOfAnEndedCall(t *testing.T) {
	late := errors.New("late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	call := &pendingCall{outcome: make(chan Answer, 1)}
	g := newFlowControl(&agentStdin{to: nowhereWriter{}}, io.NopCloser(strings.NewReader("")), silentHandler{}, nil)
	g.leave(ctx, call, nil, acp.NewRequestCancelled(nil))
	if got := <-call.outcome; !errors.Is(got.Err, late) {
		t.Error(got.Err)
	}
}

// An agent that closes its input may still have something to say.
func TestClosedInputIsNoEnd(t *testing.T) {
	notified := make(chan int)
	r := newPipeRig(t, scriptedHandler{onNotified: func(n int) { notified <- n }}, Options{})
	outcome := r.calling(t.Context(), "session/prompt")
	id := r.getsID()
	_ = r.inEnd.Close()
	if err := r.Notify(t.Context(), "session/cancel", nil); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	r.sends(wireUpdate(1), wireResult(id, `1`))
	<-notified
	if got := <-outcome; string(got.Result) != `1` || got.Err != nil {
		t.Errorf("%s, %v", got.Result, got.Err)
	}
}

func TestNothingIsLeft(t *testing.T) {
	reason := errors.New("somebody said so")
	for name, c := range map[string]struct {
		end  func(r *peerRig)
		want error
	}{
		"of an agent that exits":         {func(r *peerRig) { r.exits() }, ErrOutputEnded},
		"of one that is given up":        {func(r *peerRig) { r.Close(reason); r.Close(errors.New("again")) }, reason},
		"of one that stops in a message": {func(r *peerRig) { r.writes(`{"method":`); r.exits() }, ErrOutputEnded},
		"of one whose pipe breaks":       {func(r *peerRig) { _ = r.read.Close() }, os.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			started, told := make(chan string), make(chan error, 1)
			r := newPipeRig(t, scriptedHandler{onAsked: func(ctx context.Context, method string) (any, error) {
				result, err := waitsForEnd(started)(ctx, method)
				told <- err
				return result, err
			}}, Options{WriteTimeout: time.Hour})
			r.sends(wireRequest(`1`, "permission"))
			<-started
			waiting, blocked := r.calling(t.Context(), "session/prompt"), make(chan error, 1)
			r.getsID()
			go func() { blocked <- r.Notify(t.Context(), "m", wireLarge) }()
			if _, err := r.in.Peek(1); err != nil { // it is being written
				t.Fatal(err)
			}
			c.end(r)
			<-r.Done()
			for what, err := range map[string]error{
				"the reason": r.Cause(), "asked": <-told, "a call": (<-waiting).Err, "a write": <-blocked,
			} {
				if !errors.Is(err, c.want) {
					t.Errorf("%s: %v, want %v", what, err, c.want)
				}
			}
			if _, err := r.Call(t.Context(), "session/prompt", nil); !errors.Is(err, ErrGone) {
				t.Errorf("a later call: %v", err)
			}
		})
	}
}

func TestActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notified := make(chan int, 2)
		r := newBubbleRig(t, scriptedHandler{onNotified: func(n int) { notified <- n }}, Options{})
		begin := time.Now()
		if !r.LastRead().Equal(begin) {
			t.Error("at the beginning:", r.LastRead())
		}
		time.Sleep(time.Minute)
		r.writes(" ") // a sign of life, and no line yet
		synctest.Wait()
		time.Sleep(time.Minute)
		if got := r.LastRead().Sub(begin); got != time.Minute {
			t.Error(got)
		}
		r.sends(wireUpdate(1))
		<-notified
		if got := r.LastRead().Sub(begin); got != 2*time.Minute {
			t.Error(got)
		}
	})
}

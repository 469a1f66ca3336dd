package wire

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/wire/wiretest"
	"signoff/internal/domain"
)

// sameAsEnvelope checks that a line which is read as a chunk is a notification with the same parameters to the reader of all lines.
func sameAsEnvelope(t *testing.T, line []byte) (is bool) {
	t.Helper()
	line = bytes.Trim(line, " \t\r\n")
	chunk, is := ReadTextChunk(line)
	if !is {
		return false
	}
	e, ok := readEnvelope(line)
	if !ok || e.id != nil || string(e.method) != `"session/update"` || !bytes.Equal(e.params, chunk.Params) || domain.TooDeep(line) {
		t.Fatalf("%s is no notification to the other reader: %v %+v", line, ok, e)
	}
	update := ReadObject(e.params).Object("update")
	content := update.Object("content")
	if chunk.Session != ReadObject(e.params).Text("sessionId") || chunk.Text != content.Text("text") || content.Text("type") != "text" ||
		chunk.MessageID != update.Text("messageId") || chunk.Thought != (update.Text("sessionUpdate") == "agent_thought_chunk") {
		t.Fatalf("%s is read as %+v", line, chunk)
	}
	return true
}

func TestChunkIsReadAsEveryLine(t *testing.T) {
	for _, line := range wiretest.PlainLines {
		if !sameAsEnvelope(t, []byte(line)) {
			t.Errorf("%s is declined", line)
		}
	}
	for _, line := range wiretest.UnusualLines {
		if sameAsEnvelope(t, []byte(line)) {
			t.Errorf("%s is read as a plain chunk", line)
		}
	}
	for line := range wiretest.MutatedLines(100_000) {
		sameAsEnvelope(t, line)
	}
}

func FuzzTextChunk(f *testing.F) {
	for _, line := range slices.Concat(wiretest.PlainLines, wiretest.UnusualLines) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { sameAsEnvelope(t, line) })
}

// Chunks take a shorter way than other notifications, and requests one beside both. What the handler hears is in the
// order of the wire nevertheless, and a request is asked when all before it is told.
func TestChunksKeepTheirPlace(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		var diary peerDiary
		asked := make(chan struct{}, 1000)
		r := newPipeRig(t, scriptedHandler{
			onNotified: func(n int) { diary.add("update " + strconv.Itoa(n)) },
			onSaid:     diary.add,
			onAsked: func(_ context.Context, method string) (any, error) {
				diary.add(method)
				asked <- struct{}{}
				return nil, nil
			},
		}, Options{})
		var wanted []string
		answer := r.calling(t.Context(), "prompt")
		id := r.getsID()
		for n := range 300 {
			switch random.IntN(8) {
			case 0, 1:
				wanted = append(wanted, "update "+strconv.Itoa(n))
				r.sends(wireUpdate(n))
			case 2:
				wanted = append(wanted, "ask "+strconv.Itoa(n))
				r.sends(wireRequest(strconv.Itoa(n), wanted[len(wanted)-1]))
				<-asked // beside later notifications it may take its time
			default:
				wanted = append(wanted, "chunk "+strconv.Itoa(n))
				r.sends(wiretest.ChunkLine("agent_message_chunk", "", strconv.Quote(wanted[len(wanted)-1])))
			}
		}
		r.sends(wireResult(id, `"done"`))
		if outcome := <-answer; outcome.Err != nil {
			t.Fatal(outcome.Err)
		}
		if diff := cmp.Diff(wanted, diary.take()); diff != "" {
			t.Fatalf("order (-wire +handler):\n%s", diff)
		}
		r.ends()
	}
}

// An agent whose chunk the handler takes its time for cannot read meanwhile, if it is one that waits until it has
// written. It is not given up for that.
func TestChunkInHandHoldsTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newBubbleRig(t, scriptedHandler{onSaid: func(string) { <-release }}, Options{WriteTimeout: 10 * time.Second})
		r.sends(wiretest.ChunkLine("agent_message_chunk", "", `"x"`))
		synctest.Wait()
		notified := make(chan error, 1)
		go func() { notified <- r.Notify(t.Context(), "session/cancel", nil) }()
		time.Sleep(25 * time.Second)
		close(release)
		time.Sleep(9 * time.Second)
		if got := r.gets(); got.Method != "session/cancel" {
			t.Errorf("got %+v", got)
		}
		if err := <-notified; err != nil {
			t.Error(err)
		}
	})
}

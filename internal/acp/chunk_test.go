package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/wire"
	"signoff/internal/acp/wire/wiretest"
	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/tools/hosttest"
)

// tellingAgent is an agent without a process, in the turn of a session that is called s.
func tellingAgent(t testing.TB, host domain.Host) *agent {
	a := newAgent(Config{Mask: secrets.NewMasker("very secret").Mask}, domain.Opening{Host: host})
	t.Cleanup(a.stop)
	a.session = "s"
	a.translator.messages.process, a.translator.calls.process = "p", "p"
	a.translator.nameSession("s")
	a.translator.goLive()
	a.translator.begin(host, domain.Prompt{Turn: 1})
	return a
}

// sameAsSlow checks that a line which is read as a chunk tells what its parameters tell as an update. That both readers find the
// same parameters is tested beside them.
func sameAsSlow(t *testing.T, line []byte) (is bool) {
	t.Helper()
	line = bytes.Trim(line, " \t\r\n")
	chunk, is := wire.ReadTextChunk(line)
	if !is {
		return false
	}
	fast, slow := &hosttest.Host{}, &hosttest.Host{}
	before := `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"before"}}}`
	for host, tell := range map[*hosttest.Host]func(*agent){
		fast: func(a *agent) { a.TextChunk(chunk) },
		slow: func(a *agent) { a.Notification("session/update", chunk.Params) },
	} {
		a := tellingAgent(t, host)
		a.Notification("session/update", json.RawMessage(before))
		tell(a)
		a.translator.end(false)
	}
	if diff := cmp.Diff(told(t, slow), told(t, fast)); diff != "" {
		t.Fatalf("%s tells (-as every line +as a chunk):\n%s", line, diff)
	}
	return true
}

func TestChunkTellsWhatEveryUpdateTells(t *testing.T) {
	for _, line := range wiretest.PlainLines {
		if !sameAsSlow(t, []byte(line)) {
			t.Errorf("%s is declined", line)
		}
	}
	for _, line := range wiretest.UnusualLines {
		if sameAsSlow(t, []byte(line)) {
			t.Errorf("%s is read as a plain chunk", line)
		}
	}
	secret := wiretest.ChunkLine("agent_message_chunk", "", `"it is very secret"`)
	if !sameAsSlow(t, []byte(secret)) {
		t.Error("a secret is not for this reader to find")
	}
	for line := range wiretest.MutatedLines(100_000) {
		sameAsSlow(t, line)
	}
}

func FuzzChunk(f *testing.F) {
	for _, line := range slices.Concat(wiretest.PlainLines, wiretest.UnusualLines) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { sameAsSlow(t, line) })
}

// nowhere is a stdin that takes everything.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error)      { return len(p), nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }

// chunkFeed is an agent's output: the same lines again and again, so many as are wanted.
type chunkFeed struct {
	lines []byte
	rest  []byte
	left  int
}

func (f *chunkFeed) Read(into []byte) (int, error) {
	if len(f.rest) == 0 {
		if f.left <= 0 {
			return 0, io.EOF
		}
		f.left--
		f.rest = f.lines
	}
	n := copy(into, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *chunkFeed) Close() error { return nil }

// deafHost forgets what it is told.
type deafHost struct{ domain.Host }

func (deafHost) Emit(context.Context, ...domain.Payload) error { return nil }

// BenchmarkChunk is one chunk on its way from the agent's output to the host. All else is made before the clock begins.
func BenchmarkChunk(b *testing.B) {
	for name, line := range map[string]string{
		"plain":   wiretest.ChunkLine("agent_message_chunk", "", `" and some more words"`),
		"escaped": wiretest.ChunkLine("agent_message_chunk", `"7ffad1a2-6f08-4c3a-a5ac-7d1b45f7f0b5"`, `"\n- \"more\""`),
		"unusual": wiretest.ChunkLine("agent_message_chunk", `"m","_meta":{"a":1}`, `" and some more words"`),
	} {
		b.Run(name, func(b *testing.B) {
			const many = 100
			a := tellingAgent(b, deafHost{})
			a.config.Masker = secrets.NewMasker("another secret", "and one more")
			feed := &chunkFeed{lines: bytes.Repeat([]byte(line+"\n"), many), left: (b.N + many - 1) / many}
			b.ReportAllocs()
			b.ResetTimer()
			a.peer = wire.New(nowhere{}, feed, a, wire.Options{})
			<-a.peer.Done()
			if err := a.peer.Cause(); err != wire.ErrOutputEnded { //nolint:errorlint // the very one
				b.Fatal(fmt.Errorf("the connection ended: %w", err))
			}
		})
	}
}

// The time that a chunk takes goes into what is allocated for it: 128 allocations, by the way of every other line.
func TestChunkAllocatesLittle(t *testing.T) {
	const many = 10_000
	line := wiretest.ChunkLine("agent_message_chunk", `"m"`, `"a word\n"`)
	allocated := testing.AllocsPerRun(1, func() {
		a := tellingAgent(t, deafHost{})
		feed := &chunkFeed{lines: bytes.Repeat([]byte(line+"\n"), many), left: 1}
		a.peer = wire.New(nowhere{}, feed, a, wire.Options{})
		<-a.peer.Done()
	})
	if each := allocated / many; each > 12 {
		t.Errorf("a chunk costs %.1f allocations", each)
	}
}

package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/secrets"
	"signoff/internal/tools/hosttest"
)

// chunkLine is a line as agents send them: text and id are JSON, the id may be empty.
func chunkLine(kind, id, text string) string {
	if id != "" {
		id = `,"messageId":` + id
	}
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"` + kind +
		`","content":{"type":"text","text":` + text + `}` + id + `}}}`
}

// plainLines are read as chunks.
var plainLines = []string{
	chunkLine("agent_message_chunk", "", `"Hi"`),
	chunkLine("agent_message_chunk", `"m"`, `"two\nlines, \"quoted\", \u00e9 \ud83d\ude00 \ud83d \u0000 \\"`),
	chunkLine("agent_message_chunk", `"\u006d"`, `"the same id"`),
	chunkLine("agent_thought_chunk", `""`, `"é 😀 <b>&"`),
	`{"method":"session/update","params":{"update":{"content":{"text":"x","type":"text"},"sessionUpdate":"agent_message_chunk"},"sessionId":"s"}}`,
	" {\t\"method\" :\r\"session/update\" , \"params\" : { \"sessionId\" : \"s\", \"update\" : { \"sessionUpdate\":\"agent_message_chunk\" ," +
		"\"content\" : { \"type\" : \"text\" , \"text\" : \" \" } } } , \"jsonrpc\":\"2.0\" } ",
	strings.Replace(chunkLine("agent_message_chunk", "", `"of another session"`), `"s"`, `"other"`, 1),
}

// unusualLines are left to the other readers.
var unusualLines = []string{
	``, `{}`, `null`, `"text"`, `{"method":"session/update"}`, `log: {"a":1}`,
	strings.TrimSuffix(plainLines[0], "}"), plainLines[0] + "}", plainLines[0] + plainLines[0],
	chunkLine("agent_message_chunk", "", `""`), chunkLine("agent_message_chunk", "", `null`), chunkLine("agent_message_chunk", "7", `"x"`),
	chunkLine("agent_message_chunk", "null", `"x"`), chunkLine("user_message_chunk", "", `"x"`), chunkLine("Agent_message_chunk", "", `"x"`),
	chunkLine("agent_message_chunk", "", `"bad \x escape"`), chunkLine("agent_message_chunk", "", `"bad \u12 escape"`),
	chunkLine("agent_message_chunk", "", "\"a raw \n break\""), chunkLine("agent_message_chunk", "", "\"not UTF-8 \xff\""),
	chunkLine("agent_message_chunk", "", `"x","text":"y"`), chunkLine("agent_message_chunk", "", `"x","annotations":{}`),
	chunkLine("agent_message_chunk", "", `"x","\u0074ext":"y"`), chunkLine("agent_message_chunk", "", `"x","Text":"y"`),
	chunkLine("agent_message_chunk", `"m","_meta":{"a":1}`, `"x"`), chunkLine("agent_message_chunk", `"m","messageId":"n"`, `"x"`),
	chunkLine("agent_message_chunk", "", `"x"},"content":{"type":"text","text":"y"`),
	strings.Replace(plainLines[0], `"jsonrpc"`, `"id":1,"jsonrpc"`, 1), strings.Replace(plainLines[0], `"jsonrpc"`, `"id":null,"jsonrpc"`, 1),
	strings.Replace(plainLines[0], `"2.0"`, `"1.0"`, 1), strings.Replace(plainLines[0], `"s"`, `""`, 1), strings.Replace(plainLines[0], `"s"`, `7`, 1),
	strings.Replace(plainLines[0], `:"text"`, `:"image"`, 1), strings.Replace(plainLines[0], `session/update`, `session/other`, 1),
}

// tellingAgent is an agent without a process, in the turn of a session that is called s.
func tellingAgent(t testing.TB, host domain.Host) *agent {
	a := newAgent(launch{mask: secrets.NewMasker("very secret").Mask}, domain.Opening{Host: host})
	t.Cleanup(a.stop)
	a.session = "s"
	a.story.speech.process, a.story.calls.process = "p", "p"
	a.story.name("s")
	a.story.live()
	a.story.begin(host, domain.Prompt{Turn: 1})
	return a
}

// sameAsSlow checks that a line which is read as a chunk tells what the readers of all lines tell of it.
func sameAsSlow(t *testing.T, line []byte) (is bool) {
	t.Helper()
	line = bytes.Trim(line, " \t\r\n")
	chunk, is := readTextChunk(line)
	if !is {
		return false
	}
	e, ok := readEnvelope(line)
	if !ok || e.id != nil || string(e.method) != `"session/update"` || !bytes.Equal(e.params, chunk.params) || domain.TooDeep(line) {
		t.Fatalf("%s is no notification to the other reader: %v %+v", line, ok, e)
	}
	fast, slow := &hosttest.Host{}, &hosttest.Host{}
	before := `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"before"}}}`
	for host, tell := range map[*hosttest.Host]func(*agent){
		fast: func(a *agent) { a.said(chunk) },
		slow: func(a *agent) { a.notified("session/update", e.params) },
	} {
		a := tellingAgent(t, host)
		a.notified("session/update", json.RawMessage(before))
		tell(a)
		a.story.end(false)
	}
	if diff := cmp.Diff(told(t, slow), told(t, fast)); diff != "" {
		t.Fatalf("%s tells (-as every line +as a chunk):\n%s", line, diff)
	}
	return true
}

func TestChunkIsReadAsEveryLine(t *testing.T) {
	for _, line := range plainLines {
		if !sameAsSlow(t, []byte(line)) {
			t.Errorf("%s is declined", line)
		}
	}
	for _, line := range unusualLines {
		if sameAsSlow(t, []byte(line)) {
			t.Errorf("%s is read as a plain chunk", line)
		}
	}
	secret := chunkLine("agent_message_chunk", "", `"it is very secret"`)
	if !sameAsSlow(t, []byte(secret)) {
		t.Error("a secret is not for this reader to find")
	}
	seeds := append(append([]string{}, plainLines...), unusualLines...)
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 { // cut, doubled, and put together anew
		line := []byte(seeds[random.IntN(len(seeds))])
		other := seeds[random.IntN(len(seeds))]
		if len(line) == 0 || other == "" {
			continue
		}
		at, from, to := random.IntN(len(line)), random.IntN(len(other)), random.IntN(len(other)+1)
		sameAsSlow(t, append(append(line[:at:at], other[min(from, to):max(from, to)]...), line[random.IntN(len(line)):]...))
	}
}

func FuzzTextChunk(f *testing.F) {
	for _, line := range append(append([]string{}, plainLines...), unusualLines...) {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { sameAsSlow(t, line) })
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
		}, peerOptions{})
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
				r.sends(chunkLine("agent_message_chunk", "", strconv.Quote(wanted[len(wanted)-1])))
			}
		}
		r.sends(wireResult(id, `"done"`))
		if outcome := <-answer; outcome.err != nil {
			t.Fatal(outcome.err)
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
		r := newBubbleRig(t, scriptedHandler{onSaid: func(string) { <-release }}, peerOptions{writeTimeout: 10 * time.Second})
		r.sends(chunkLine("agent_message_chunk", "", `"x"`))
		synctest.Wait()
		notified := make(chan error, 1)
		go func() { notified <- r.notify(t.Context(), "session/cancel", nil) }()
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
		"plain":   chunkLine("agent_message_chunk", "", `" and some more words"`),
		"escaped": chunkLine("agent_message_chunk", `"7ffad1a2-6f08-4c3a-a5ac-7d1b45f7f0b5"`, `"\n- \"more\""`),
		"unusual": chunkLine("agent_message_chunk", `"m","_meta":{"a":1}`, `" and some more words"`),
	} {
		b.Run(name, func(b *testing.B) {
			const many = 100
			a := tellingAgent(b, deafHost{})
			a.launch.masker = secrets.NewMasker("another secret", "and one more")
			feed := &chunkFeed{lines: bytes.Repeat([]byte(line+"\n"), many), left: (b.N + many - 1) / many}
			b.ReportAllocs()
			b.ResetTimer()
			a.peer = newPeer(nowhereWriter{}, feed, a, peerOptions{})
			<-a.peer.done()
			if err := a.peer.cause(); err != errOutputOver { //nolint:errorlint // the very one
				b.Fatal(fmt.Errorf("the connection ended: %w", err))
			}
		})
	}
}

// The time that a chunk takes goes into what is allocated for it: 128 allocations, by the way of every other line.
func TestChunkAllocatesLittle(t *testing.T) {
	const many = 10_000
	line := chunkLine("agent_message_chunk", `"m"`, `"a word\n"`)
	allocated := testing.AllocsPerRun(1, func() {
		a := tellingAgent(t, deafHost{})
		feed := &chunkFeed{lines: bytes.Repeat([]byte(line+"\n"), many), left: 1}
		a.peer = newPeer(nowhereWriter{}, feed, a, peerOptions{})
		<-a.peer.done()
	})
	if each := allocated / many; each > 12 {
		t.Errorf("a chunk costs %.1f allocations", each)
	}
}

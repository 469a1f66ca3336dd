package providertest

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

const (
	// BenchChunks is how many pieces of text the answer of a benchmark has.
	BenchChunks = 10_000
	// BenchText is each of them.
	BenchText = "@1234567890123456789"
)

// BenchStream is the way of an answer from the model's socket to the agent.
func BenchStream(b *testing.B, d Dialect, body string) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		said := &counter{}
		if _, err := d.Open(Stream(body)).Stream(b.Context(), SmallRequest(), said); err != nil || said.bytes != BenchChunks*len(BenchText) {
			b.Fatalf("it said %d bytes, %v", said.bytes, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/BenchChunks, "ns/chunk")
}

// counter is a sink that keeps nothing.
type counter struct {
	Ear

	bytes int
}

// Text implements [provider.Sink].
func (c *counter) Text(text string) error {
	c.bytes += len(text)
	return nil
}

// BenchFloor is what BenchStream is to be held against, as a ratio: the same bytes, read line by line and decoded by read, with
// encoding/json, into as little as can be.
func BenchFloor(b *testing.B, body string, read func(data []byte) (text string, err error)) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		lines := bufio.NewScanner(strings.NewReader(body))
		said := 0
		for lines.Scan() {
			data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !isData || string(data) == "[DONE]" {
				continue
			}
			text, err := read(data)
			if err != nil {
				b.Fatal(err)
			}
			said += len(text)
		}
		if said != BenchChunks*len(BenchText) {
			b.Fatalf("it said %d bytes", said)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/BenchChunks, "ns/chunk")
}

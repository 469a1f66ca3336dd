package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// body is an event stream in which the text is cut at some place, as a server may that holds back what might become a secret.
func body(sent time.Time, cut int) (stream string) {
	text := strings.Repeat(fmt.Sprintf("@%d ", sent.UnixNano()), 3)
	for _, piece := range []string{text[:cut], text[cut:]} {
		stream += "id: 1\nevent: message.delta\ndata: {\"seq\":1,\"data\":{\"text\":\"" + piece + "\"}}\n\n"
	}
	return stream + "data: {\"type\":\"execution.completed\",\"data\":{\"output\":{\"text\":\"@all of it once more\"}}}\n\n"
}

func TestTallyCountsChunksHoweverTheyAreCut(t *testing.T) {
	sent := time.Now().Add(-time.Second)
	for _, cut := range []int{0, 7, 19, 20, 21, 63} {
		stream := body(sent, cut)
		for manner, reader := range map[string]io.Reader{"at once": strings.NewReader(stream), "byte by byte": iotest.OneByteReader(strings.NewReader(stream))} {
			counted := newTally(script{chunks: 3, rate: 1})
			err := counted.read(reader)
			if err != nil || counted.chunks() != 3 || len(counted.latencies) != 3 || counted.wire != int64(len(stream)) {
				t.Errorf("cut at %d, %s: %d chunks, %d latencies, %d bytes: %v", cut, manner, counted.chunks(), len(counted.latencies), counted.wire, err)
			}
			for _, latency := range counted.latencies {
				if latency < time.Second || latency > time.Minute {
					t.Errorf("cut at %d: a latency of %s", cut, latency)
				}
			}
		}
	}
}

func TestTallyMissesChunks(t *testing.T) {
	if err := newTally(script{chunks: 9}).read(strings.NewReader(body(time.Now(), 0))); err == nil {
		t.Error("a chunk is missing, and nobody says so")
	}
}

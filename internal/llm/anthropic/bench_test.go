package anthropic

import (
	"encoding/json"
	"slices"
	"testing"

	"signoff/internal/llm/provider/providertest"
)

func BenchmarkFloor(b *testing.B)  { providertest.BenchFloor(b, benchBody(), readFloor) }
func BenchmarkStream(b *testing.B) { providertest.BenchStream(b, dialect(), benchBody()) }

func readFloor(data []byte) (string, error) {
	var event struct {
		Type  string `json:"type"`
		Delta struct {
			Text string `json:"text"`
		} `json:"delta"`
	}
	err := json.Unmarshal(data, &event)
	return event.Delta.Text, err
}

func benchBody() string {
	said := slices.Repeat([]providertest.Piece{providertest.Saying(providertest.BenchText)}, providertest.BenchChunks)
	return wire(append(said, providertest.Stopping("stop"))...)
}

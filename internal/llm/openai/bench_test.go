package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"signoff/internal/llm/provider/providertest"
)

func BenchmarkFloor(b *testing.B)  { providertest.BenchFloor(b, benchBody(), readFloor) }
func BenchmarkStream(b *testing.B) { providertest.BenchStream(b, dialect(), benchBody()) }

func readFloor(data []byte) (string, error) {
	var chunk struct {
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
			FinishReason *string `json:"finish_reason"`
		} `json:"choices"`
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return "", err
	}
	return chunk.Choices[0].Delta.Content, nil
}

func benchBody() string {
	chunk := `data: {"id":"chatcmpl-0123456789","object":"chat.completion.chunk","created":1790000000,"model":"bench",` +
		`"choices":[{"index":0,"delta":%s,"finish_reason":%s}]}` + "\n\n"
	said := fmt.Sprintf(chunk, `{"content":"`+providertest.BenchText+`"}`, "null")
	return strings.Repeat(said, providertest.BenchChunks) + fmt.Sprintf(chunk, "{}", `"stop"`) + "data: [DONE]\n\n"
}

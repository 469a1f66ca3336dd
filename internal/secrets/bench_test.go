package secrets_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"signoff/internal/secrets"
)

// BenchmarkMaskString masks the texts that a server has most of, and a dump, with the values of a busy server.
func BenchmarkMaskString(b *testing.B) {
	masker := secrets.NewMasker(manySecrets(20)...)
	for name, text := range map[string]string{"log": logLines(1000), "xxd": xxdLines(1500)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				masker.MaskString(text)
			}
		})
	}
}

func manySecrets(count int) []string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	random := rand.New(rand.NewPCG(5, 6))
	values := make([]string, count)
	for i := range values {
		value := make([]byte, 40)
		for j := range value {
			value[j] = letters[random.IntN(len(letters))]
		}
		values[i] = string(value)
	}
	return values
}

func logLines(count int) string {
	random := rand.New(rand.NewPCG(7, 8))
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, `2026-11-%02dT06:%02d:%02d.%06dZ INFO request handled method=GET path=/executions/%08x-%04x status=200 bytes=%d duration=%dms remote=10.0.%d.%d:%d`+"\n",
			1+i%28, i/60%60, i%60, random.IntN(1_000_000), random.Uint32(), random.IntN(1<<16), random.IntN(100_000), random.IntN(5000), random.IntN(256), random.IntN(256), 1024+random.IntN(60_000))
	}
	return all.String()
}

// xxdLines are a dump of English words, whose bytes are those of many values.
func xxdLines(count int) string {
	return rows(strings.Repeat("The quick brown fox jumps over 13 lazy dogs, and the server answers 200 to it. ", count*16/64)[:count*16], 16, 2, "%08x: ", "")
}

// Package wiretest has lines as agents write them, for the tests of the connection and of what becomes of its messages.
package wiretest

import (
	"iter"
	"math/rand/v2"
	"strings"
)

// ChunkLine is a line as agents send them: text and id are JSON, the id may be empty.
func ChunkLine(kind, id, text string) string {
	if id != "" {
		id = `,"messageId":` + id
	}
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"` + kind +
		`","content":{"type":"text","text":` + text + `}` + id + `}}}`
}

// PlainLines are read as chunks.
var PlainLines = []string{
	ChunkLine("agent_message_chunk", "", `"Hi"`),
	ChunkLine("agent_message_chunk", `"m"`, `"two\nlines, \"quoted\", \u00e9 \ud83d\ude00 \ud83d \u0000 \\"`),
	ChunkLine("agent_message_chunk", `"\u006d"`, `"the same id"`),
	ChunkLine("agent_thought_chunk", `""`, `"é 😀 <b>&"`),
	`{"method":"session/update","params":{"update":{"content":{"text":"x","type":"text"},"sessionUpdate":"agent_message_chunk"},"sessionId":"s"}}`,
	" {\t\"method\" :\r\"session/update\" , \"params\" : { \"sessionId\" : \"s\", \"update\" : { \"sessionUpdate\":\"agent_message_chunk\" ," +
		"\"content\" : { \"type\" : \"text\" , \"text\" : \" \" } } } , \"jsonrpc\":\"2.0\" } ",
	strings.Replace(ChunkLine("agent_message_chunk", "", `"of another session"`), `"s"`, `"other"`, 1),
}

// UnusualLines are left to the other readers.
var UnusualLines = []string{
	``, `{}`, `null`, `"text"`, `{"method":"session/update"}`, `log: {"a":1}`,
	strings.TrimSuffix(PlainLines[0], "}"), PlainLines[0] + "}", PlainLines[0] + PlainLines[0],
	ChunkLine("agent_message_chunk", "", `""`), ChunkLine("agent_message_chunk", "", `null`), ChunkLine("agent_message_chunk", "7", `"x"`),
	ChunkLine("agent_message_chunk", "null", `"x"`), ChunkLine("user_message_chunk", "", `"x"`), ChunkLine("Agent_message_chunk", "", `"x"`),
	ChunkLine("agent_message_chunk", "", `"bad \x escape"`), ChunkLine("agent_message_chunk", "", `"bad \u12 escape"`),
	ChunkLine("agent_message_chunk", "", "\"a raw \n break\""), ChunkLine("agent_message_chunk", "", "\"not UTF-8 \xff\""),
	ChunkLine("agent_message_chunk", "", `"x","text":"y"`), ChunkLine("agent_message_chunk", "", `"x","annotations":{}`),
	ChunkLine("agent_message_chunk", "", `"x","\u0074ext":"y"`), ChunkLine("agent_message_chunk", "", `"x","Text":"y"`),
	ChunkLine("agent_message_chunk", `"m","_meta":{"a":1}`, `"x"`), ChunkLine("agent_message_chunk", `"m","messageId":"n"`, `"x"`),
	ChunkLine("agent_message_chunk", "", `"x"},"content":{"type":"text","text":"y"`),
	strings.Replace(PlainLines[0], `"jsonrpc"`, `"id":1,"jsonrpc"`, 1), strings.Replace(PlainLines[0], `"jsonrpc"`, `"id":null,"jsonrpc"`, 1),
	strings.Replace(PlainLines[0], `"2.0"`, `"1.0"`, 1), strings.Replace(PlainLines[0], `"s"`, `""`, 1), strings.Replace(PlainLines[0], `"s"`, `7`, 1),
	strings.Replace(PlainLines[0], `:"text"`, `:"image"`, 1), strings.Replace(PlainLines[0], `session/update`, `session/other`, 1),
}

// MutatedLines are n lines that were cut, doubled, and put together anew, always the same.
func MutatedLines(n int) iter.Seq[[]byte] {
	seeds := append(append([]string{}, PlainLines...), UnusualLines...)
	random := rand.New(rand.NewPCG(1, 2))
	return func(yield func([]byte) bool) {
		for range n {
			line := []byte(seeds[random.IntN(len(seeds))])
			other := seeds[random.IntN(len(seeds))]
			if len(line) == 0 || other == "" {
				continue
			}
			at, from, to := random.IntN(len(line)), random.IntN(len(other)), random.IntN(len(other)+1)
			if !yield(append(append(line[:at:at], other[min(from, to):max(from, to)]...), line[random.IntN(len(line)):]...)) {
				return
			}
		}
	}
}

package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Script answers one request of a model. The conversation is all that it knows.
type Script func(a *Answer, conversation []Message)

// Message is a message of a conversation, as the model is sent it.
type Message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Chat serves OpenAI's chat completions and the list of models. Requests are answered side by side, each by the script.
func Chat(script Script) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			return
		}
		var request struct {
			Messages []Message
			Tools    []struct{ Function struct{ Name string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		a := &Answer{W: w, Gone: r.Context().Done(), Used: [2]int{100, 20}}
		for _, tool := range request.Tools {
			a.Tools = append(a.Tools, tool.Function.Name)
		}
		script(a, request.Messages)
		a.end()
	})
}

// Answer is the stream of one answer. It belongs to the script.
type Answer struct {
	W      http.ResponseWriter
	Gone   <-chan struct{} // is closed when the other side has hung up
	Tools  []string        // that the request offers
	Used   [2]int          // tokens in and out, as the answer tells them
	Broken bool            // nothing is to follow, not even an end

	calls int
}

// Say streams pieces of text.
func (a *Answer) Say(pieces ...string) {
	for _, piece := range pieces {
		a.chunk(Object{"role": "assistant", "content": piece}, nil)
	}
}

// Think streams reasoning.
func (a *Answer) Think(text string) { a.chunk(Object{"reasoning_content": text}, nil) }

// Want asks for a tool.
func (a *Answer) Want(tool string, arguments Object) {
	encoded, _ := json.Marshal(arguments)
	a.WantRaw(tool, string(encoded))
}

// Bash asks for a command.
func (a *Answer) Bash(command string) { a.Want("bash", Object{"command": command}) }

// WantRaw asks for a tool with arguments that need not be JSON.
func (a *Answer) WantRaw(tool, arguments string) {
	a.chunk(Object{"tool_calls": []Object{{
		"index": a.calls, "id": "provider-" + strconv.Itoa(a.calls), "type": "function",
		"function": Object{"name": tool, "arguments": arguments},
	}}}, nil)
	a.calls++
}

// Refuse answers with an error in place of a stream; nothing may have been said before.
func (a *Answer) Refuse(status int, code string) {
	a.Broken = true
	a.W.Header().Set("Content-Type", "application/json")
	a.W.WriteHeader(status)
	failure := Object{"message": "not today", "type": "scripted"}
	if code != "" {
		failure["code"] = code
	}
	_ = json.NewEncoder(a.W).Encode(Object{"error": failure})
}

func (a *Answer) chunk(delta Object, finish any) {
	encoded, _ := json.Marshal(Object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
		"choices": []Object{{"index": 0, "delta": delta, "finish_reason": finish}},
	})
	fmt.Fprintf(a.W, "data: %s\n\n", encoded)
	_ = http.NewResponseController(a.W).Flush()
}

func (a *Answer) end() {
	if a.Broken {
		return
	}
	finish := "stop"
	if a.calls > 0 {
		finish = "tool_calls"
	}
	a.chunk(Object{}, finish)
	fmt.Fprintf(a.W, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\ndata: [DONE]\n\n", a.Used[0], a.Used[1], a.Used[0]+a.Used[1])
}

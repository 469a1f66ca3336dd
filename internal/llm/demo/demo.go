// Package demo is a scripted model: a fresh machine can show the whole walk, approval included, without a key.
//
// The script says what it is in its first sentence. It reads the conversation and nothing else, so it goes on after a restart like any
// model. There are two walks: one command that a person approves (demo.go), and a runbook that gets two blocks (blocks.go).
package demo

import (
	"context"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// Name is what the configuration calls the provider.
const Name = "demo"

// Provider is the script. It asks nobody, so it has no address and is always there.
var Provider = provider.Provider{
	Name:     Name,
	Settings: provider.NoSettings,
	Open:     func(_ provider.Model, setup provider.Setup) provider.Client { return client{pace: setup.Pace} },
}

// Pace is about that of a fast model; see [provider.Setup].
const Pace = 25 * time.Millisecond

type client struct {
	pace time.Duration // before each chunk
}

var _ provider.Client = client{}

// Probe implements [provider.Client].
func (client) Probe(context.Context) error { return nil }

// Stream implements [provider.Client].
func (c client) Stream(ctx context.Context, request provider.Request, sink provider.Sink) (provider.Answer, error) {
	scene := sceneOf(request)
	thought, err := c.speak(ctx, scene.thought, sink.Thought)
	if err != nil {
		return provider.Answer{}, err
	}
	text, err := c.speak(ctx, scene.text, sink.Text)
	if err != nil {
		return provider.Answer{}, err
	}
	var wanted int
	for _, call := range scene.calls {
		wanted += tokens(call.Arguments)
	}
	return provider.Answer{Calls: scene.calls, Usage: usageOf(request, thought, text+wanted)}, nil
}

// speak says text word by word and returns how many tokens that was.
func (c client) speak(ctx context.Context, text string, say func(string) error) (spoken int, err error) {
	for word := range strings.SplitAfterSeq(text, " ") {
		if err := c.pause(ctx); err != nil {
			return 0, err
		}
		if word == "" {
			continue
		}
		if err := say(word); err != nil {
			return 0, err
		}
	}
	return tokens(text), nil
}

func (c client) pause(ctx context.Context) error {
	if c.pace <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(c.pace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sceneOf finds the moment: has the command been asked for since the user last spoke, and what came of it?
func sceneOf(request provider.Request) scene {
	for i := len(request.Messages) - 1; i >= 0; i-- {
		switch message := request.Messages[i]; message.Role {
		case domain.RoleTool:
			if generating(request) {
				return sceneSubmitting(request, message.Text)
			}
			return sceneAfter(message.Text)
		case domain.RoleUser:
			return sceneOpening(request)
		}
	}
	return sceneOpening(request)
}

func sceneOpening(request provider.Request) scene {
	if generating(request) {
		return sceneReading(request)
	}
	for _, tool := range request.Tools {
		if tool.Name == "bash" {
			return sceneAsking(request)
		}
	}
	return scene{text: "I am Signoff's scripted demonstration model, not a language model. My script wants to look at this " +
		"machine with one command, but this execution may not run any. So there is nothing that I can show."}
}

// tokens counts words: the script has no tokenizer, and a word is its token.
func tokens(text string) int { return len(strings.Fields(text)) }

func usageOf(request provider.Request, thought, said int) domain.Usage {
	read := tokens(request.System)
	for _, message := range request.Messages {
		read += tokens(message.Text)
	}
	input, output, reasoning := int64(read), int64(thought+said), int64(thought)
	total := input + output
	return domain.Usage{InputTokens: &input, OutputTokens: &output, ReasoningTokens: &reasoning, TotalTokens: &total}
}

// Package demo is a scripted model: a fresh machine can show the whole walk, approval included, without a key.
//
// The script says what it is in its first sentence. It reads the conversation and nothing else, so it goes on after a restart like any
// model. There are two walks: one command that a person approves (demo.go), and a runbook that gets two blocks (blocks.go).
package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// Name is what the configuration calls the provider.
const Name = "demo"

// Provider is the script. It asks nobody, so it has no address and is always there.
var Provider = provider.Provider{
	Name: Name,
	Open: func(_ provider.Model, setup provider.Setup) provider.Client { return client{pace: setup.Pace} },
}

// Pace is about that of a fast model; see [provider.Setup].
const Pace = 25 * time.Millisecond

type client struct {
	pace time.Duration // before each chunk
}

var _ provider.Client = client{}

// Probe implements [provider.Client].
func (client) Probe(context.Context) error { return nil }

// command is short, because a person reads it before anything else of Signoff.
const command = "date; uname -sr; df -h .; ls -A"

// quotedLines is how many lines of the output the script quotes: date, kernel, disk, and the first files.
const quotedLines = 8

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

// scene is what the script has for one moment of the conversation.
type scene struct {
	thought, text string
	calls         []provider.Call
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

func sceneAsking(request provider.Request) scene {
	return scene{
		thought: fmt.Sprintf("The user wrote: “%s”. I follow a script, so whatever the task is, I do the one thing that I can: "+
			"look at this machine with a command that changes nothing. It needs a person's approval, so I say first what it does.",
			provider.OneLine(lastUserText(request), 120)),
		text: "I am Signoff's scripted demonstration model: no language model is behind me, and I do not understand your task. " +
			"What I can show is the walk of a tool call. I ask to run one harmless command that prints the date, the kernel, " +
			"the free disk space and the files of the working directory. It runs only if a person approves it.",
		calls: []provider.Call{{Name: "bash", Arguments: string(domain.Encode(map[string]string{"command": command}))}},
	}
}

// sceneAfter concludes. A result that does not look like our command's is the host's word on why the command did not
// run, or the output of what the decider wrote in its place. The text quotes it and claims no more than it knows.
func sceneAfter(result string) scene {
	lower := strings.ToLower(result)
	told := "I was told: “" + provider.OneLine(result, 500) + "” "
	switch {
	case printedByCommand(result):
		return scene{
			thought: "The command was approved and has run. I quote the lines that matter and come to an end.",
			text: "The command was approved and has run. It says:\n\n" + listOf(result) +
				"\n\nThat is all that my script does. Connect a real model to work on real tasks.",
		}
	case strings.Contains(lower, "denied"):
		return scene{text: "The command was denied, so it did not run, and I will not try another way. " + told +
			"With that my script ends."}
	case strings.Contains(lower, "in time") || strings.Contains(lower, "expired"):
		return scene{text: "Nobody decided in time, so the command did not run. " + told +
			"That is not a no; start me again and approve it to see the rest."}
	default:
		return scene{text: "The command did not bring what my script expects. " + told + "With that my script ends."}
	}
}

// printedByCommand looks for the kernel's line, which is the second.
func printedByCommand(result string) bool {
	lines := strings.Split(result, "\n")
	return len(lines) > 2 && (strings.HasPrefix(lines[1], "Linux ") || strings.HasPrefix(lines[1], "Darwin "))
}

// listOf is the beginning of the output as a list.
func listOf(result string) string {
	lines := strings.Split(strings.TrimSpace(result), "\n")
	var list []string
	for _, line := range lines[:min(len(lines), quotedLines)] {
		list = append(list, "- "+provider.OneLine(line, 200))
	}
	if left := len(lines) - len(list); left > 0 {
		list = append(list, fmt.Sprintf("- … and %d more", left))
	}
	return strings.Join(list, "\n")
}

func lastUserText(request provider.Request) string {
	for i := len(request.Messages) - 1; i >= 0; i-- {
		if request.Messages[i].Role == domain.RoleUser {
			return request.Messages[i].Text
		}
	}
	return ""
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

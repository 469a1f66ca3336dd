package llm

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"signoff/internal/domain"
)

// demo is a scripted model: a fresh machine can show the whole walk, approval included, without a key. It says so in
// its first sentence. It reads the conversation and nothing else, so it goes on after a restart like any model.
type demo struct {
	pace time.Duration // before each chunk
}

var _ provider = demo{}

// demoCommand is short, because a person reads it before anything else of Signoff.
const demoCommand = "date; uname -sr; df -h .; ls -A"

// demoQuotes is how many lines of the output the script quotes: date, kernel, disk, and the first files.
const demoQuotes = 8

// Stream implements provider.
func (d demo) Stream(ctx context.Context, request request, sink sink) (answer, error) {
	scene := sceneOf(request)
	thought, err := d.speak(ctx, scene.thought, sink.Thought)
	if err != nil {
		return answer{}, err
	}
	text, err := d.speak(ctx, scene.text, sink.Text)
	if err != nil {
		return answer{}, err
	}
	var wanted int
	for _, call := range scene.calls {
		wanted += demoTokens(call.arguments)
	}
	return answer{calls: scene.calls, usage: demoUsage(request, thought, text+wanted)}, nil
}

// speak says text word by word and returns how many tokens that was.
func (d demo) speak(ctx context.Context, text string, say func(string) error) (tokens int, err error) {
	for word := range strings.SplitAfterSeq(text, " ") {
		if err := d.pause(ctx); err != nil {
			return 0, err
		}
		if word == "" {
			continue
		}
		if err := say(word); err != nil {
			return 0, err
		}
	}
	return demoTokens(text), nil
}

func (d demo) pause(ctx context.Context) error {
	if d.pace <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d.pace)
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
	calls         []modelCall
}

// sceneOf finds the moment: has the command been asked for since the user last spoke, and what came of it?
func sceneOf(request request) scene {
	for i := len(request.messages) - 1; i >= 0; i-- {
		switch message := request.messages[i]; message.Role {
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

func sceneOpening(request request) scene {
	if generating(request) {
		return sceneReading(request)
	}
	for _, tool := range request.tools {
		if tool.Name == "bash" {
			return sceneAsking(request)
		}
	}
	return scene{text: "I am Signoff's scripted demonstration model, not a language model. My script wants to look at this " +
		"machine with one command, but this execution may not run any. So there is nothing that I can show."}
}

func sceneAsking(request request) scene {
	return scene{
		thought: fmt.Sprintf("The user wrote: “%s”. I follow a script, so whatever the task is, I do the one thing that I can: "+
			"look at this machine with a command that changes nothing. It needs a person's approval, so I say first what it does.",
			quote(lastUserText(request), 120)),
		text: "I am Signoff's scripted demonstration model: no language model is behind me, and I do not understand your task. " +
			"What I can show is the walk of a tool call. I ask to run one harmless command that prints the date, the kernel, " +
			"the free disk space and the files of the working directory. It runs only if a person approves it.",
		calls: []modelCall{{name: "bash", arguments: string(domain.Encode(map[string]string{"command": demoCommand}))}},
	}
}

// sceneAfter concludes. A result that does not look like our command's is the host's word on why the command did not
// run, or the output of what the decider wrote in its place. The text quotes it and claims no more than it knows.
func sceneAfter(result string) scene {
	lower := strings.ToLower(result)
	told := "I was told: “" + quote(result, 500) + "” "
	switch {
	case printedByDemo(result):
		return scene{
			thought: "The command was approved and has run. I quote the lines that matter and come to an end.",
			text: "The command was approved and has run. It says:\n\n" + demoLines(result) +
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

// printedByDemo looks for the kernel's line, which is the second.
func printedByDemo(result string) bool {
	lines := strings.Split(result, "\n")
	return len(lines) > 2 && (strings.HasPrefix(lines[1], "Linux ") || strings.HasPrefix(lines[1], "Darwin "))
}

// demoLines is the beginning of the output as a list.
func demoLines(result string) string {
	lines := strings.Split(strings.TrimSpace(result), "\n")
	var list []string
	for _, line := range lines[:min(len(lines), demoQuotes)] {
		list = append(list, "- "+quote(line, 200))
	}
	if left := len(lines) - len(list); left > 0 {
		list = append(list, fmt.Sprintf("- … and %d more", left))
	}
	return strings.Join(list, "\n")
}

func lastUserText(request request) string {
	for i := len(request.messages) - 1; i >= 0; i-- {
		if request.messages[i].Role == domain.RoleUser {
			return request.messages[i].Text
		}
	}
	return ""
}

// quote is text on one line, with at most n characters.
func quote(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}

// demoTokens counts words: the script has no tokenizer, and a word is its token.
func demoTokens(text string) int { return len(strings.Fields(text)) }

func demoUsage(request request, thought, said int) domain.Usage {
	read := demoTokens(request.system)
	for _, message := range request.messages {
		read += demoTokens(message.Text)
	}
	input, output, reasoning := int64(read), int64(thought+said), int64(thought)
	total := input + output
	return domain.Usage{InputTokens: &input, OutputTokens: &output, ReasoningTokens: &reasoning, TotalTokens: &total}
}

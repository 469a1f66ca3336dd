package demo

import (
	"fmt"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/llm/provider"
)

// The script's first walk: one command that a person approves.

// command is short, because a person reads it before anything else of Signoff.
const command = "date; uname -sr; df -h .; ls -A"

// quotedLines is how many lines of the output the script quotes: date, kernel, disk, and the first files.
const quotedLines = 8

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

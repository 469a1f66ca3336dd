package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

const (
	bashFields = `"command" (string) and optionally "timeoutSeconds" (whole number), "hosts" and "secrets" ` +
		`(lists of strings)`
	maxCommandBytes    = 100_000 // Linux takes 128 KiB in one argument of a process
	defaultTimeout     = 120     // seconds
	maxTimeout         = 600
	maxGrants          = 20 // hosts, and as many secrets
	headBytes          = 16 << 10
	tailBytes          = 16 << 10
	emptyCommandOutput = "(no output)"
)

//go:embed bash.md
var bashText string

// Bash runs a command line. What it prints is shown live, in pieces, and given to the model by its head and tail.
type Bash struct{}

var _ Tool = Bash{}

type bashArguments struct {
	command string
	timeout time.Duration
	hosts   []string // names and *.names
	secrets []string // names
}

// Definition implements [Tool].
func (Bash) Definition() Definition {
	return Definition{
		Name:        "bash",
		Version:     "2",
		Class:       domain.ClassExecute,
		Description: bashText,
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"command": {"type": "string", "description": "The command line for bash."},
				"timeoutSeconds": {"type": "integer", "minimum": 1, "maximum": 600,
					"description": "Kill the command after so many seconds. Default 120."},
				"hosts": {"type": "array", "items": {"type": "string"}, "maxItems": 20,
					"description": "Hosts that the command must reach, such as example.com or *.example.com. Default none."},
				"secrets": {"type": "array", "items": {"type": "string"}, "maxItems": 20,
					"description": "Names of secrets that the command needs as environment variables. Default none."}
			},
			"required": ["command"],
			"additionalProperties": false
		}`),
	}
}

// Check implements [Tool].
func (Bash) Check(arguments json.RawMessage, dir string) (Intent, error) {
	parsed, err := readBashArguments(arguments)
	if err != nil {
		return Intent{}, err
	}
	return Intent{
		Summary: fmt.Sprintf("Run %s in %s%s", code(parsed.command), folder(dir), parsed.access()),
		Action:  domain.Action{Command: parsed.command, Hosts: parsed.hosts, Secrets: parsed.secrets},
	}, nil
}

// access describes the access of the command beyond the workspace.
func (a bashArguments) access() string {
	var kinds []string
	if len(a.hosts) > 0 {
		kinds = append(kinds, "the network hosts "+strings.Join(a.hosts, ", "))
	}
	if len(a.secrets) > 0 {
		kinds = append(kinds, "the secrets "+strings.Join(a.secrets, ", "))
	}
	if kinds == nil {
		return ""
	}
	return " with access to " + strings.Join(kinds, " and ")
}

// Run implements [Tool].
func (Bash) Run(ctx context.Context, host domain.Host, call domain.ToolCall) Result {
	parsed, err := readBashArguments(call.Arguments)
	if err != nil {
		return failed("", err)
	}
	output := newOutput(ctx, host, call.ID, headBytes, tailBytes)
	command := domain.Command{
		Argv: []string{"bash", "-c", parsed.command}, Timeout: parsed.timeout,
		Hosts: parsed.hosts, Secrets: parsed.secrets,
	}
	ended, err := host.Run(ctx, command, output)
	return output.close().result(func(text string) Result {
		return bashResult(noted(text, ended.Notes), ended, parsed.timeout, err)
	})
}

// noted adds what Signoff knows of the refusals that the command met, apart from what the command has printed.
func noted(text string, notes []string) string {
	for _, note := range notes {
		text = joinLines(text, "signoff: "+note)
	}
	return text
}

// bashResult tells the model how the command ended, on the last line, where the model looks first. A command that ran
// and said no is a failed call: people look for red ones, and an exit code is what commands say no with.
func bashResult(text string, ended domain.CommandResult, timeout time.Duration, err error) Result {
	switch {
	case err != nil:
		return failed(text, err)
	case ended.TimedOut:
		message := fmt.Sprintf("The command was killed: it had not ended after %d seconds.", int(timeout.Seconds()))
		return failed(text, domain.Errorf(domain.CodeToolFailed, "%s", message))
	case ended.ExitCode != 0:
		result := failed(text, domain.Errorf(domain.CodeToolFailed, "exit code %d", ended.ExitCode))
		result.ExitCode = &ended.ExitCode
		return result
	case text == "":
		text = emptyCommandOutput
	}
	return Result{Output: text, ExitCode: &ended.ExitCode}
}

func readBashArguments(arguments json.RawMessage) (bashArguments, error) {
	members := readFields(arguments, bashFields, "command", "timeoutSeconds", "hosts", "secrets")
	parsed := bashArguments{
		command: members.text("command", maxCommandBytes),
		timeout: time.Duration(members.number("timeoutSeconds", defaultTimeout, 1, maxTimeout)) * time.Second,
		hosts:   members.hosts("hosts"),
		secrets: members.secrets("secrets"),
	}
	return parsed, members.mistake
}

var secretPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// hosts reads names of hosts, and of whole domains as *.name. One that means all hosts is refused: a person is to see
// where a command goes.
func (f *fields) hosts(name string) []string {
	hosts := f.list(name, maxGrants, 253)
	for i, host := range hosts {
		hosts[i] = strings.ToLower(host)
		if hosts[i] == "*" || !egress.Pattern(hosts[i]) {
			f.wrong("The entry %s of %q is no host name; write it as in example.com or *.example.com, "+
				"without scheme, port and path.", code(host), name)
		}
	}
	return hosts
}

func (f *fields) secrets(name string) []string {
	secrets := f.list(name, maxGrants, 128)
	for _, secret := range secrets {
		if !secretPattern.MatchString(secret) {
			f.wrong("The entry %s of %q is no name of a secret.", code(secret), name)
		}
	}
	return secrets
}

package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

// prints scripts a command that writes pieces and ends.
func prints(ended domain.CommandResult, pieces ...string) func(context.Context, domain.Command, io.Writer) (domain.CommandResult, error) {
	return func(_ context.Context, _ domain.Command, output io.Writer) (domain.CommandResult, error) {
		for _, piece := range pieces {
			if n, err := output.Write([]byte(piece)); n != len(piece) || err != nil {
				return ended, errors.New("the output refused a write")
			}
		}
		return ended, nil
	}
}

func bash(t *testing.T, host *hosttest.Host, command string) tools.Result {
	t.Helper()
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return tools.Bash{}.Run(t.Context(), host, domain.ToolCall{ID: "c", Tool: "bash", Arguments: arguments})
}

// live joins what was shown live, and fails where the pieces do not follow each other.
func live(t *testing.T, host *hosttest.Host) string {
	t.Helper()
	var text strings.Builder
	for _, update := range hosttest.Of[domain.ToolCallUpdated](host) {
		if update.Offset != text.Len() {
			t.Errorf("a piece has the offset %d, want %d", update.Offset, text.Len())
		}
		if update.Output == "" || len(update.Output) > 8<<10 || !utf8.ValidString(update.Output) {
			t.Errorf("a piece of %d bytes, valid: %v", len(update.Output), utf8.ValidString(update.Output))
		}
		text.WriteString(update.Output)
	}
	return text.String()
}

func TestBashEnds(t *testing.T) {
	tests := []struct {
		name     string
		ended    domain.CommandResult
		output   string
		want     string
		exitCode int // -1 = none
		failure  string
	}{
		{"success", domain.CommandResult{}, "hello\n", "hello\n", 0, ""},
		{"silence", domain.CommandResult{}, "", "(no output)", 0, ""},
		{"exit code", domain.CommandResult{ExitCode: 3}, "no such host\n", "no such host\nexit code 3", 3, "exit code 3"},
		{"exit code alone", domain.CommandResult{ExitCode: 1}, "", "exit code 1", 1, "exit code 1"},
		{"timeout", domain.CommandResult{ExitCode: 137, TimedOut: true}, "one",
			"one\nThe command was killed: it had not ended after 120 seconds.", -1, "The command was killed: it had not ended after 120 seconds."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := bash(t, &hosttest.Host{Command: prints(test.ended, test.output)}, "x")
			if result.Output != test.want {
				t.Errorf("output %q, want %q", result.Output, test.want)
			}
			if got := exitCode(result); got != test.exitCode {
				t.Errorf("exit code %d, want %d", got, test.exitCode)
			}
			if got := message(result); got != test.failure {
				t.Errorf("failure %q, want %q", got, test.failure)
			}
		})
	}
}

func exitCode(result tools.Result) int {
	if result.ExitCode == nil {
		return -1
	}
	return *result.ExitCode
}

func message(result tools.Result) string {
	if result.Failure == nil {
		return ""
	}
	return result.Failure.Message
}

func TestBashRunsThePlainCommandLine(t *testing.T) {
	var got domain.Command
	host := &hosttest.Host{Command: func(_ context.Context, command domain.Command, _ io.Writer) (domain.CommandResult, error) {
		got = command
		return domain.CommandResult{}, nil
	}}
	call := domain.ToolCall{Arguments: json.RawMessage(
		`{"command": "echo 'a b'", "timeoutSeconds": 7, "hosts": ["Example.com", "*.golang.org"], "secrets": ["API_TOKEN"]}`)}
	if result := (tools.Bash{}).Run(t.Context(), host, call); result.Failure != nil {
		t.Fatal(result.Failure)
	}
	if strings.Join(got.Argv, "|") != "bash|-c|echo 'a b'" || got.Timeout != 7*time.Second || got.Dir != "" {
		t.Errorf("got %+v", got)
	}
	if strings.Join(got.Hosts, " ") != "example.com *.golang.org" || strings.Join(got.Secrets, " ") != "API_TOKEN" {
		t.Errorf("it may reach %q with %q", got.Hosts, got.Secrets)
	}
	if result := bash(t, host, "x"); result.Failure != nil || got.Hosts != nil || got.Secrets != nil {
		t.Errorf("unasked, it may reach %q with %q", got.Hosts, got.Secrets)
	}
}

func TestBashKeepsTheHostsCode(t *testing.T) {
	host := &hosttest.Host{Command: func(_ context.Context, _ domain.Command, output io.Writer) (domain.CommandResult, error) {
		_, _ = io.WriteString(output, "begun")
		return domain.CommandResult{}, domain.Errorf(domain.CodeSandboxUnavailable, "Nothing confines it.").With(errors.New("/secret/path"))
	}}
	result := bash(t, host, "x")
	if result.Failure == nil || result.Failure.Code != domain.CodeSandboxUnavailable || result.Output != "begun\nNothing confines it." {
		t.Errorf("got %+v %q", result.Failure, result.Output)
	}
	host.Command = func(context.Context, domain.Command, io.Writer) (domain.CommandResult, error) {
		return domain.CommandResult{}, errors.New("/secret/path")
	}
	if result := bash(t, host, "x"); result.Failure.Code != domain.CodeToolFailed || strings.Contains(result.Output, "secret") {
		t.Errorf("got %+v %q", result.Failure, result.Output)
	}
}

func TestBashShowsOutputLive(t *testing.T) {
	text := strings.Repeat("ä€😀x", 5000)
	for _, size := range []int{1, 2, 3, 7, 4096, 100_000} {
		var pieces []string
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		host := &hosttest.Host{Command: prints(domain.CommandResult{}, pieces...)}
		result := bash(t, host, "x")
		if got := live(t, host); got != text {
			t.Errorf("writes of %d bytes: live output differs, %d bytes of %d", size, len(got), len(text))
		}
		if events := len(host.Payloads()); events > 40 {
			t.Errorf("writes of %d bytes: %d events", size, events)
		}
		if result.Output != text || result.Truncated || !utf8.ValidString(result.ModelOutput) {
			t.Errorf("writes of %d bytes: people get %d bytes of %d, truncated %v", size, len(result.Output), len(text), result.Truncated)
		}
	}
}

func TestBashShowsASlowCommandSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &hosttest.Host{}
		host.Command = func(_ context.Context, _ domain.Command, output io.Writer) (domain.CommandResult, error) {
			_, _ = io.WriteString(output, "first ")
			_, _ = io.WriteString(output, "line\n")
			time.Sleep(time.Second)
			if got := live(t, host); got != "first line\n" {
				t.Errorf("after a second %q is shown", got)
			}
			_, _ = io.WriteString(output, "second")
			return domain.CommandResult{}, nil
		}
		bash(t, host, "x")
		if got := live(t, host); got != "first line\nsecond" || len(host.Payloads()) != 2 {
			t.Errorf("%q in %d events", got, len(host.Payloads()))
		}
	})
}

func TestBashMendsInvalidBytes(t *testing.T) {
	host := &hosttest.Host{Command: prints(domain.CommandResult{}, "a\xff", "b\xe2\x82", "c\xe2", "\x82", "\xac", "\xf0\x9f")}
	result := bash(t, host, "x")
	want := "a\uFFFDb\uFFFDc€\uFFFD"
	if result.Output != want || live(t, host) != want {
		t.Errorf("got %q and live %q, want %q", result.Output, live(t, host), want)
	}
}

// TestPeopleSeeTheWholeOutput: words that are meant for the model are not in the text that people see, and of a text beyond the bound they
// are told how much is missing.
func TestPeopleSeeTheWholeOutput(t *testing.T) {
	for _, lines := range []int{10, 3000, 80_000, 200_000} {
		said := numbered(lines)
		result := bash(t, &hosttest.Host{Command: prints(domain.CommandResult{ExitCode: 3}, said)}, "x")
		if strings.Contains(result.Output, "use the tool") || len(result.Output) > 1<<20 {
			t.Errorf("%d lines: people see words for the model, or too much, in %d bytes", lines, len(result.Output))
		}
		if (result.ModelOutput == "") != (len(said) <= 32<<10) || len(result.ModelOutput) > 33<<10 {
			t.Errorf("%d lines: the model gets %d bytes of its own", lines, len(result.ModelOutput))
		}
		text := strings.TrimSuffix(result.Output, "exit code 3")
		begin, rest, cut := strings.Cut(text, "\n[… ")
		if cut != result.Truncated || cut != (len(said) > 1<<20) {
			t.Errorf("%d lines: cut: %v, truncated: %v", lines, cut, result.Truncated)
		}
		if !cut {
			if text != said {
				t.Errorf("%d lines: people see %d bytes of %d", lines, len(text), len(said))
			}
			continue
		}
		notice, end, _ := strings.Cut(rest, "]\n")
		var missing, all int
		if _, err := fmt.Sscanf(notice, "%d bytes are missing here: the output had %d bytes,", &missing, &all); err != nil {
			t.Fatalf("%d lines: %q: %v", lines, notice, err)
		}
		if all != len(said) || len(begin)+missing+len(end) != all || !strings.HasPrefix(said, begin) || !strings.HasSuffix(said, end) {
			t.Errorf("%d lines: %d bytes, a notice of %d of %d, and %d bytes, of %d", lines, len(begin), missing, all, len(end), len(said))
		}
	}
}

// TestWhatIsLeftOutCanBeRead follows the note: the log has what was shown live, and the offset is the line of the gap.
func TestWhatIsLeftOutCanBeRead(t *testing.T) {
	host := &hosttest.Host{Command: prints(domain.CommandResult{}, numbered(10_000))}
	result := bash(t, host, "x")
	note := regexp.MustCompile(`\[… (\d+) bytes left out here\. To see them, use the tool read with the path "(.*)" and the offset (\d+)\.\]`)
	found := note.FindStringSubmatch(result.ModelOutput)
	if found == nil {
		t.Fatalf("no note in %.200q", result.ModelOutput)
	}
	host.Outputs = map[string]string{"c": live(t, host)}
	arguments := fmt.Sprintf(`{"path": %q, "offset": %s, "limit": 1}`, found[2], found[3])
	read := tools.Read{}.Run(t.Context(), host, domain.ToolCall{Arguments: json.RawMessage(arguments)})
	line, _, _ := strings.Cut(read.Output, "\n")
	before, _, _ := strings.Cut(result.ModelOutput, "\n[…")
	if broken := before[strings.LastIndex(before, "\n")+1:]; read.Failure != nil || !strings.HasPrefix(line, broken) {
		t.Errorf("the head ends with %q, and the rest begins with %q", broken, line)
	}
}

func TestBashGoesOnWhenNobodyListens(t *testing.T) {
	host := &hosttest.Host{
		Command: prints(domain.CommandResult{}, strings.Repeat("x", 20_000), "end"),
		Refuse:  func(domain.Payload) error { return errors.New("over") },
	}
	if result := bash(t, host, "x"); result.Failure != nil || !strings.HasSuffix(result.Output, "end") {
		t.Errorf("got %+v", result.Failure)
	}
}

func TestBashSummary(t *testing.T) {
	tests := []struct{ name, command, want string }{
		{"plain", "ls -l", "Run `ls -l` in /srv/run"},
		{"backtick", "ls` in /tmp", "Run ``ls` in /tmp`` in /srv/run"},
		{"newline", "ls\nrm -rf /", "Run `ls⏎rm -rf /` in /srv/run"},
		{"escape", "echo \x1b[2K\r\t", "Run `echo ⟨U+001B⟩[2K⟨U+000D⟩⟨U+0009⟩` in /srv/run"},
		{"look-alikes", "\u0441at\u037e echo \u05d0", "Run `⟨U+0441⟩at⟨U+037E⟩ echo ⟨U+05D0⟩` in /srv/run"},
		{"bidi", "echo \u202Etxt.exe\u2066", "Run `echo ⟨U+202E⟩txt.exe⟨U+2066⟩` in /srv/run"},
		{"invisible", "a\u200bb\u00a0c\u3164d\ufe0fe\u00ad\U000E0041", "Run `a⟨U+200B⟩b⟨U+00A0⟩c⟨U+3164⟩d⟨U+FE0F⟩e⟨U+00AD⟩⟨U+E0041⟩` in /srv/run"},
		{"long", strings.Repeat("a", 1000) + "THE END", "Run `" + strings.Repeat("a", 200) +
			" … (707 characters hidden) … " + strings.Repeat("a", 93) + "THE END` in /srv/run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			arguments, _ := json.Marshal(map[string]string{"command": test.command})
			got, err := tools.Bash{}.Check(arguments, "/srv/run")
			if err != nil || got.Summary != test.want {
				t.Errorf("got  %q, %v\nwant %q", got.Summary, err, test.want)
			}
		})
	}
}

func TestBashTellsWhatACommandGets(t *testing.T) {
	tests := []struct{ fields, access string }{
		{`"hosts": ["A.example", "b.example"], "secrets": ["X", "Y"]`, " with access to the network hosts a.example, b.example and the secrets X, Y"},
		{`"hosts": ["a.example"]`, " with access to the network hosts a.example"},
		{`"secrets": ["X"], "hosts": null`, " with access to the secrets X"},
		{`"hosts": [], "secrets": []`, ""},
	}
	for _, test := range tests {
		got, err := tools.Bash{}.Check(json.RawMessage(`{"command": "ls", `+test.fields+`}`), "/srv")
		if want := "Run `ls` in /srv" + test.access; err != nil || got.Summary != want {
			t.Errorf("%s: %q, %v", test.fields, got.Summary, err)
		}
		if got.Action.Command != "ls" || (len(got.Action.Hosts)+len(got.Action.Secrets) > 0) != (test.access != "") {
			t.Errorf("%s: the policy judges %+v", test.fields, got.Action)
		}
	}
}

func FuzzBashSummaryIsOneVisibleLine(f *testing.F) {
	f.Add("ls\n\u202e")
	f.Fuzz(func(t *testing.T, command string) {
		arguments, _ := json.Marshal(map[string]string{"command": command})
		intent, err := tools.Bash{}.Check(arguments, "/srv")
		if err != nil {
			return
		}
		if strings.ContainsFunc(intent.Summary, func(r rune) bool { return r < ' ' || (r >= 0x7f && r < 0xa0) || (r >= 0x202a && r <= 0x202e) }) {
			t.Errorf("a hidden character in %q", intent.Summary)
		}
	})
}

func TestBrokenArguments(t *testing.T) {
	big := `{"command":"` + strings.Repeat("x", 100_001) + `"}`
	tests := []struct{ name, tool, arguments, want string }{
		{"nothing", "bash", ``, "must be one JSON object"},
		{"no JSON", "bash", `{"command": "ls`, "not valid JSON"},
		{"text", "bash", `"ls"`, "must be one JSON object"},
		{"array", "bash", `["ls"]`, "must be one JSON object"},
		{"null", "bash", `null`, "must be one JSON object"},
		{"two objects", "bash", `{"command":"ls"}{"command":"rm"}`, "one object only"},
		{"missing", "bash", `{}`, `"command" is missing`},
		{"null field", "bash", `{"command":null}`, `"command" is missing`},
		{"number", "bash", `{"command":5}`, `"command" must be a string`},
		{"blank", "bash", `{"command":" \n"}`, `"command" is empty`},
		{"NUL", "bash", `{"command":"ls\u0000"}`, "NUL"},
		{"huge", "bash", big, "100001 bytes; at most 100000"},
		{"twice", "bash", `{"command":"ls","command":"rm"}`, `"command" is there twice`},
		{"twice in another case", "bash", `{"command":"ls","COMMAND":"rm"}`, `"COMMAND" is there twice`},
		{"not UTF-8", "bash", "{\"command\":\"ls \xff\"}", "UTF-8"},
		{"a restriction that nobody keeps", "bash", `{"command":"ls","dryRun":true}`, `no field "dryRun"`},
		{"another case", "bash", `{"Command":"ls"}`, `no field "Command"`},
		{"timeout text", "bash", `{"command":"ls","timeoutSeconds":"soon"}`, "whole number from 1 to 600"},
		{"timeout fraction", "bash", `{"command":"ls","timeoutSeconds":1.5}`, "whole number"},
		{"timeout zero", "bash", `{"command":"ls","timeoutSeconds":0}`, "from 1 to 600"},
		{"timeout long", "bash", `{"command":"ls","timeoutSeconds":601}`, "from 1 to 600"},
		{"timeout absurd", "bash", `{"command":"ls","timeoutSeconds":1e300}`, "from 1 to 600"},
		{"hosts text", "bash", `{"command":"ls","hosts":"a.example"}`, `"hosts" must be a list of strings`},
		{"host number", "bash", `{"command":"ls","hosts":[1]}`, `"hosts[0]" must be a string`},
		{"host null", "bash", `{"command":"ls","hosts":["a.example",null]}`, `"hosts[1]" is missing`},
		{"host twice", "bash", `{"command":"ls","hosts":["a.example","a.example"]}`, `"hosts" has an entry twice`},
		{"all hosts", "bash", `{"command":"ls","hosts":["*"]}`, "no host name"},
		{"host URL", "bash", `{"command":"ls","hosts":["https://a.example/"]}`, "without scheme"},
		{"host port", "bash", `{"command":"ls","hosts":["a.example:443"]}`, "no host name"},
		{"host sentence", "bash", `{"command":"ls","hosts":["a.example and nothing else"]}`, "no host name"},
		{"too many hosts", "bash", `{"command":"ls","hosts":[` + strings.Repeat(`"a",`, 20) + `"a"]}`, "21 entries; at most 20"},
		{"secret sentence", "bash", `{"command":"ls","secrets":["X\u202e"]}`, "no name of a secret"},
		{"secret assignment", "bash", `{"command":"ls","secrets":["PATH=/tmp"]}`, "no name of a secret"},
		{"no call", "read", `{"path":"output:"}`, "names no call"},
		{"no path", "read", `{}`, `"path" is missing`},
		{"offset", "read", `{"path":"a","offset":0}`, `"offset" must be from 1`},
		{"limit", "read", `{"path":"a","limit":-1}`, `"limit" must be from 1`},
	}
	registry := tools.NewRegistry(tools.Bash{}, tools.Read{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := registry.Describe(test.tool, json.RawMessage(test.arguments), "/srv")
			if domain.CodeOf(err) != domain.CodeInvalidArguments || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			// What Check refuses, Run refuses too: a decider may have written it.
			tool, _ := registry.Lookup(test.tool)
			result := tool.Run(t.Context(), &hosttest.Host{}, domain.ToolCall{Arguments: json.RawMessage(test.arguments)})
			if result.Failure == nil || result.Failure.Code != domain.CodeInvalidArguments {
				t.Errorf("Run: %+v", result.Failure)
			}
		})
	}
	for _, tolerated := range []string{`{"command":"ls","timeoutSeconds":30.0}`, `{"command":"ls","timeoutSeconds":null}`} {
		if _, err := registry.Describe("bash", json.RawMessage(tolerated), "/srv"); err != nil {
			t.Errorf("%s: %v", tolerated, err)
		}
	}
}

func TestRegistry(t *testing.T) {
	registry := tools.NewRegistry(tools.Bash{}, tools.Read{})
	_, err := registry.Describe("rm\u202e", nil, "/srv")
	if domain.CodeOf(err) != domain.CodeUnknownTool || !strings.Contains(err.Error(), "bash, read") {
		t.Errorf("got %v", err)
	}
	for _, definition := range registry.Definitions() {
		if _, known := registry.Lookup(definition.Name); !known {
			t.Errorf("%s is advertised and not there", definition.Name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("two tools of one name were taken")
		}
	}()
	tools.NewRegistry(tools.Bash{}, tools.Bash{})
}

// TestBashNotes: what Signoff says of a refusal stands after the output, on lines of its own, and before how the command ended. It is no part of what is shown live.
func TestBashNotes(t *testing.T) {
	host := &hosttest.Host{Command: prints(domain.CommandResult{ExitCode: 1, Notes: []string{"/a: not visible.", "/b: not visible."}}, "cat: /a /b\n")}
	if result := bash(t, host, "cat /a /b"); result.Output != "cat: /a /b\nsignoff: /a: not visible.\nsignoff: /b: not visible.\nexit code 1" {
		t.Errorf("%q", result.Output)
	}
	for _, payload := range host.Payloads() {
		if update, is := payload.(domain.ToolCallUpdated); is && strings.Contains(update.Output, "signoff") {
			t.Errorf("%q was shown as output of the command", update.Output)
		}
	}
	host.Command = prints(domain.CommandResult{Notes: []string{"/a: not visible."}})
	if result := bash(t, host, "cat /a || true"); result.Output != "signoff: /a: not visible." || result.Failure != nil {
		t.Errorf("%+v", result)
	}
}

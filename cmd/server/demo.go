package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sessions"
)

const demoPrompt = "What does this machine look like? Look before you answer."

// demo starts a server of its own in a temporary folder and goes through the main job with the public API alone:
// create, follow, decide.
func demo(ctx context.Context, args []string, std stdio) error {
	if err := noArguments("demo", args, std); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "signoff-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	config, err := demoConfig(folder)
	if err != nil {
		return err
	}
	config.setLogger(std.err)
	app, err := Open(ctx, config, demoModels())
	if err != nil {
		return err
	}
	defer app.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	ready := make(chan struct{})
	go func() { ended <- app.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		return err
	}
	err = walkThrough(ctx, app, std)
	stop()
	return errors.Join(err, <-ended)
}

// demoConfig reads only the sandbox from the environment: the demo must not touch configured data.
func demoConfig(folder string) (Config, error) {
	config, err := readConfig()
	if err != nil {
		return config, err
	}
	workspace := filepath.Join(folder, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		return config, err
	}
	note := "Welcome to Signoff.\nAn agent can look at this folder, and nothing else of this machine.\n"
	if err := os.WriteFile(filepath.Join(workspace, "README.txt"), []byte(note), 0o600); err != nil {
		return config, err
	}
	config.Addr, config.DataDir, config.DatabaseURL = "127.0.0.1:0", filepath.Join(folder, "data"), ""
	config.WorkspaceRoot, config.LogLevel, config.Config, config.AllowedHosts = workspace, "error", "", nil
	return config, nil
}

func walkThrough(ctx context.Context, app *App, std stdio) error {
	token, err := os.ReadFile(app.config.tokenFile())
	if err != nil {
		return err
	}
	w := &walk{
		api: client{base: "http://" + app.Addr(), token: strings.TrimSpace(string(token))},
		std: std, answers: bufio.NewReader(std.in), asks: terminal(std.in),
	}
	fmt.Fprintf(std.out, "A server runs on %s, with a scripted model that needs no key (sandbox: %s).\n", w.api.base, app.sandbox.Name())
	if app.sandbox.Name() == sessions.NoSandbox {
		fmt.Fprintln(std.out, "No sandbox works here, so the command will be refused. To go on, install bubblewrap or allow\n"+
			"user namespaces (signoff doctor tells more), or run it unconfined: SIGNOFF_SANDBOX=off make demo")
	}
	if err := w.choose(ctx); err != nil {
		return err
	}
	var execution struct {
		ID string `json:"id"`
	}
	body := map[string]any{"source": map[string]string{"type": "internal"}, "prompt": demoPrompt}
	if err := w.api.call(ctx, "POST", "/executions", body, &execution); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "\nPOST /executions                 created %s\n", execution.ID)
	fmt.Fprintf(std.out, "GET  /executions/%.8s…/events  following\n\n  prompt: %s\n", execution.ID, demoPrompt)
	if err := w.follow(ctx, execution.ID); err != nil {
		return err
	}
	if err := w.result(ctx, execution.ID); err != nil || !w.browses {
		return err
	}
	return w.linger(ctx)
}

// walk is the view of one person who follows an execution.
type walk struct {
	api     client
	std     stdio
	answers *bufio.Reader
	asks    bool   // a person can be asked
	browses bool   // who decides in the console, and not here
	last    string // the kind of text that was printed last
}

// choose lets the person decide here or in the console. Its link has a token that goes away with the demo's server.
func (w *walk) choose(ctx context.Context) error {
	if !w.asks || !terminal(w.std.out) {
		return nil
	}
	fmt.Fprintf(w.std.out, "Its console, for a browser on this machine:\n\n  %s\n", consoleLink(w.api.base, w.api.token))
	answer, err := w.ask(ctx, "\nDecide here, or in the browser? [h/b] ", "h", "here", "b", "browser")
	w.browses = strings.HasPrefix(answer, "b")
	return err
}

// linger keeps the console's server there until the person has seen enough.
func (w *walk) linger(ctx context.Context) error {
	fmt.Fprint(w.std.out, "\nThe console is there until you press Enter; start more of these executions in it, if you like. ")
	_, err := w.answer(ctx)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// follow reads the stream to its end and answers its approvals.
func (w *walk) follow(ctx context.Context, id string) error {
	response, err := w.api.send(ctx, "GET", "/executions/"+id+"/events", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, is := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !is {
			continue
		}
		var event domain.Event
		if err := json.Unmarshal(data, &event); err != nil {
			return err
		}
		if err := w.show(ctx, event); err != nil {
			return err
		}
	}
	return lines.Err()
}

// show prints an event as a person wants to read it.
func (w *walk) show(ctx context.Context, event domain.Event) error {
	if event.Type == "stream.synced" {
		return nil
	}
	payload, err := event.Payload()
	if err != nil {
		return nil //nolint:nilerr // a type that this client does not know is passed over, as every client should
	}
	switch p := payload.(type) {
	case domain.ThoughtDelta:
		w.text("thinks: ", p.Text)
	case domain.MessageDelta:
		w.text("says:   ", p.Text)
	case domain.StateChanged:
		w.line("state:  " + string(p.To))
	case domain.ApprovalRequested:
		return w.decide(ctx, p)
	case domain.ToolCallStarted:
		w.line("runs:   allowed by " + p.AllowedBy + ", sandbox " + p.Sandbox)
	case domain.ToolCallCompleted:
		w.line("result: " + string(p.Outcome) + "\n" + strings.TrimRight(indent(indent(p.Output)), "\n"))
	case domain.ExecutionEnded:
		w.line("ended:  " + string(p.Status) + " (" + string(p.FinishReason) + ")")
	}
	return nil
}

func (w *walk) text(kind, text string) {
	if w.last != kind {
		fmt.Fprintf(w.std.out, "\n  %s", kind)
		w.last = kind
	}
	fmt.Fprint(w.std.out, strings.ReplaceAll(text, "\n", "\n          "))
}

func (w *walk) line(text string) {
	fmt.Fprint(w.std.out, "\n  "+text)
	w.last = ""
}

// decide shows the call and asks. Without a person to ask it says so and approves.
func (w *walk) decide(ctx context.Context, p domain.ApprovalRequested) error {
	w.line("ASKS:   " + p.Summary)
	fmt.Fprintf(w.std.out, "\n          nothing runs until somebody decides; it expires at %s\n", p.ExpiresAt.Local().Format(time.TimeOnly))
	if w.browses {
		fmt.Fprintln(w.std.out, "          It is in the inbox of the console.")
		return nil
	}
	answer := map[string]any{"decision": "approve", "argumentsHash": p.ArgumentsHash}
	if yes, err := w.yes(ctx); err != nil {
		return err
	} else if !yes {
		answer["decision"], answer["reason"] = "deny", "The person at the demo said no."
	}
	fmt.Fprintf(w.std.out, "          POST /approvals/%.8s…  %s", p.ApprovalID, answer["decision"])
	err := w.api.call(ctx, "POST", "/approvals/"+string(p.ApprovalID), answer, nil)
	if status := (refusal{}); errors.As(err, &status) && status.code == nethttp.StatusConflict {
		w.line("        somebody was faster in the console")
		return nil
	}
	return err
}

func (w *walk) yes(ctx context.Context) (bool, error) {
	if !w.asks {
		fmt.Fprintln(w.std.out, "\n          No terminal here, so the demo approves by itself.")
		return true, nil
	}
	answer, err := w.ask(ctx, "\n          Approve? [y/n] ", "n", "no", "y", "yes")
	return strings.HasPrefix(answer, "y"), err
}

// ask repeats a question until it gets one of the answers. Whoever hangs up has given the first one.
func (w *walk) ask(ctx context.Context, question string, answers ...string) (string, error) {
	for {
		fmt.Fprint(w.std.out, question)
		line, err := w.answer(ctx)
		answer := strings.ToLower(strings.TrimSpace(line))
		switch {
		case slices.Contains(answers, answer):
			return answer, nil
		case errors.Is(err, io.EOF):
			return answers[0], nil
		case err != nil:
			return "", err
		}
	}
}

// answer reads a line. Ctrl-C ends the demo also while it waits; the reader is left to the end of the process.
func (w *walk) answer(ctx context.Context) (string, error) {
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		line, err := w.answers.ReadString('\n')
		done <- read{line, err}
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case <-ctx.Done():
		return "", errors.New("the demo was stopped")
	}
}

func (w *walk) result(ctx context.Context, id string) error {
	var execution struct {
		Status  string `json:"status"`
		LastSeq int64  `json:"lastSeq"`
		Output  struct {
			Text string `json:"text"`
		} `json:"output"`
	}
	if err := w.api.call(ctx, "GET", "/executions/"+id, nil, &execution); err != nil {
		return err
	}
	fmt.Fprintf(w.std.out, "\n\nGET  /executions/%.8s…         %s after %d events\n\n%s\n", id, execution.Status, execution.LastSeq, indent(execution.Output.Text))
	fmt.Fprint(w.std.out, "Where to go next:\n  make run            a server of your own; it prints the three curls\n"+
		"  README.md           a real model in one line of configuration\n  docs/               configuration, states, the API's document is api/openapi.yaml\n")
	if execution.Status != string(domain.StatusCompleted) && !w.browses { // the console has more than yes and no
		return errors.New("the demo's execution did not complete")
	}
	return nil
}

// client calls the public API.
type client struct{ base, token string }

func (c client) send(ctx context.Context, method, path string, body any) (*nethttp.Response, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := nethttp.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Body = io.NopCloser(bytes.NewReader(encoded))
		request.ContentLength = int64(len(encoded))
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	response, err := nethttp.DefaultTransport.RoundTrip(request) // a client's timeout would end the stream
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= nethttp.StatusBadRequest {
		defer response.Body.Close()
		problem, _ := io.ReadAll(io.LimitReader(response.Body, 8<<10))
		return nil, refusal{response.StatusCode, fmt.Sprintf("%s %s answers %s: %s", method, path, response.Status, problem)}
	}
	return response, nil
}

// refusal is a problem that the API answers.
type refusal struct {
	code int
	text string
}

func (r refusal) Error() string { return r.text }

func (c client) call(ctx context.Context, method, path string, body, into any) error {
	response, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}

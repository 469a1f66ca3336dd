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

// demo starts a server of its own in a temporary folder, and is its client: it creates an execution, follows it and decides, by the public
// API alone.
func demo(ctx context.Context, args []string, std stdio) error {
	if err := parse(flags("demo", std), args); err != nil {
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
	walked := make(chan error, 1)
	err = app.Run(ctx, func() {
		go func() {
			walked <- walkThrough(ctx, app, std)
			stop()
		}()
	})
	if err != nil {
		return err
	}
	return <-walked
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
	config.Addr, config.DataDir, config.DatabaseURL = "127.0.0.1:0", filepath.Join(folder, "data"), ""
	config.WorkspaceRoot, config.LogLevel, config.Config, config.AllowedHosts = workspace, "error", "", nil
	note := "Welcome to Signoff.\nAn agent can look at this folder, and nothing else of this machine.\n"
	return config, os.WriteFile(filepath.Join(workspace, "README.txt"), []byte(note), 0o600)
}

// walk is one person at a terminal who follows an execution.
type walk struct {
	client
	std     stdio
	answers <-chan string // the lines that the person types; nil: nobody can be asked
	browses bool          // the person decides in the console, and not here
	last    string        // the kind of text that was printed last
}

func walkThrough(ctx context.Context, app *App, std stdio) error {
	token, err := app.config.firstToken("")
	if err != nil {
		return err
	}
	w := &walk{client: client{base: "http://" + app.Addr(), token: token}, std: std}
	fmt.Fprintf(std.out, "A server runs on %s, with a scripted model that needs no key (sandbox: %s).\n", w.base, app.sandbox.Name())
	if app.sandbox.Name() == sessions.NoSandbox {
		fmt.Fprintln(std.out, "No sandbox works here, so the command will be refused. To go on, install bubblewrap or allow\n"+
			"user namespaces (signoff doctor tells more).")
	}
	if terminal(std.in) {
		w.answers = lines(std.in)
	}
	if w.answers != nil && terminal(std.out) {
		fmt.Fprintf(std.out, "Its console, for a browser on this machine:\n\n  %s\n", consoleLink(w.base, w.token))
		answer, err := w.ask(ctx, "\nDecide here, or in the browser? [h/b] ", "h", "here", "b", "browser")
		if err != nil {
			return err
		}
		w.browses = strings.HasPrefix(answer, "b")
	}
	if err := w.execution(ctx); err != nil || !w.browses {
		return err
	}
	_, err = w.ask(ctx, "\nThe console is there until you press Enter; start more of these executions in it, if you like. ")
	return err
}

// execution runs one execution from its creation to its end.
func (w *walk) execution(ctx context.Context) error {
	var execution struct{ ID domain.ExecutionID }
	response, err := w.send(ctx, "POST", "/executions", map[string]any{"source": map[string]string{"type": "internal"}, "prompt": demoPrompt})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&execution); err != nil {
		return err
	}
	fmt.Fprintf(w.std.out, "\nPOST /executions                 created %s\n", execution.ID)
	fmt.Fprintf(w.std.out, "GET  /executions/%.8s…/events  following\n\n  prompt: %s\n", execution.ID, demoPrompt)
	end, err := w.follow(ctx, execution.ID)
	if err != nil {
		return err
	}
	fmt.Fprint(w.std.out, "\n\nWhere to go next:\n  make run            a server of your own; it prints the three curls\n"+
		"  README.md           a real model in one line of configuration\n  docs/               configuration, states, the API's document is api/openapi.yaml\n")
	if end.Status != domain.StatusCompleted && !w.browses { // the console can do more than approve and deny
		return errors.New("the demo's execution did not complete")
	}
	return nil
}

// follow prints the events of the stream, and answers its approvals, until the last event.
func (w *walk) follow(ctx context.Context, id domain.ExecutionID) (end domain.ExecutionEnded, err error) {
	response, err := w.send(ctx, "GET", "/executions/"+string(id)+"/events", nil)
	if err != nil {
		return end, err
	}
	defer response.Body.Close()
	frames := bufio.NewScanner(response.Body)
	frames.Buffer(nil, 1<<20)
	for frames.Scan() {
		data, is := bytes.CutPrefix(frames.Bytes(), []byte("data: "))
		if !is {
			continue
		}
		var event domain.Event
		if err := json.Unmarshal(data, &event); err != nil {
			return end, err
		}
		switch p, _ := event.Payload(); p := p.(type) { // a client ignores a type that it does not know
		case domain.ThoughtDelta:
			w.text("thinks: ", p.Text)
		case domain.MessageDelta:
			w.text("says:   ", p.Text)
		case domain.StateChanged:
			w.line("state:  " + string(p.To))
		case domain.ApprovalRequested:
			err = w.decide(ctx, p)
		case domain.ToolCallStarted:
			w.line("runs:   allowed by " + p.AllowedBy + ", sandbox " + p.Sandbox)
		case domain.ToolCallCompleted:
			w.line("result: " + string(p.Outcome) + "\n" + strings.TrimRight(indent(indent(p.Output)), "\n"))
		case domain.ExecutionEnded:
			w.line("ended:  " + string(p.Status) + " (" + string(p.FinishReason) + ")")
			end = p
		}
		if err != nil {
			return end, err
		}
	}
	return end, frames.Err()
}

// decide shows the call and asks the person. Without a person it says so and approves.
func (w *walk) decide(ctx context.Context, p domain.ApprovalRequested) error {
	w.line("ASKS:   " + p.Summary)
	fmt.Fprintf(w.std.out, "\n          nothing runs until somebody decides; it expires at %s\n", p.ExpiresAt.Local().Format(time.TimeOnly))
	decision := map[string]any{"decision": "approve", "argumentsHash": p.ArgumentsHash}
	switch {
	case w.browses:
		fmt.Fprintln(w.std.out, "          It is in the inbox of the console.")
		return nil
	case w.answers == nil:
		fmt.Fprintln(w.std.out, "\n          No terminal here, so the demo approves by itself.")
	default:
		answer, err := w.ask(ctx, "\n          Approve? [y/n] ", "n", "no", "y", "yes")
		if err != nil {
			return err
		}
		if strings.HasPrefix(answer, "n") {
			decision["decision"], decision["reason"] = "deny", "The person at the demo said no."
		}
	}
	fmt.Fprintf(w.std.out, "          POST /approvals/%.8s…  %s", p.ApprovalID, decision["decision"])
	response, err := w.send(ctx, "POST", "/approvals/"+string(p.ApprovalID), decision, nethttp.StatusConflict)
	if err != nil {
		return err
	}
	if response.StatusCode == nethttp.StatusConflict {
		w.line("        somebody was faster in the console")
	}
	return response.Body.Close()
}

func (w *walk) text(kind, text string) {
	if w.last != kind {
		w.line(kind)
		w.last = kind
	}
	fmt.Fprint(w.std.out, strings.ReplaceAll(text, "\n", "\n          "))
}

func (w *walk) line(text string) {
	fmt.Fprint(w.std.out, "\n  "+text)
	w.last = ""
}

// ask repeats a question until it gets one of the answers; without answers, any line will do. At the end of the input the answer is the first one.
func (w *walk) ask(ctx context.Context, question string, answers ...string) (string, error) {
	for {
		fmt.Fprint(w.std.out, question)
		select {
		case line, typed := <-w.answers:
			answer := strings.ToLower(strings.TrimSpace(line))
			if len(answers) == 0 || slices.Contains(answers, answer) {
				return answer, nil
			}
			if !typed {
				return answers[0], nil
			}
		case <-ctx.Done():
			return "", errors.New("the demo was stopped")
		}
	}
}

// lines reads from a terminal until the process ends, because nothing interrupts a read.
func lines(in io.Reader) <-chan string {
	typed := make(chan string)
	go func() {
		defer close(typed)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			typed <- scanner.Text()
		}
	}()
	return typed
}

// client calls the public API.
type client struct{ base, token string }

// send returns the response to a request. A status of 400 or above is an error unless the caller expects it.
func (c client) send(ctx context.Context, method, path string, body any, expected ...int) (*nethttp.Response, error) {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return nil, err
		}
	}
	request, err := nethttp.NewRequestWithContext(ctx, method, c.base+path, &content)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := nethttp.DefaultTransport.RoundTrip(request) // the timeout of a [nethttp.Client] would end the stream
	if err != nil || response.StatusCode < nethttp.StatusBadRequest || slices.Contains(expected, response.StatusCode) {
		return response, err
	}
	defer response.Body.Close()
	problem, _ := io.ReadAll(io.LimitReader(response.Body, 8<<10))
	return nil, fmt.Errorf("%s %s answers %s: %s", method, path, response.Status, problem)
}

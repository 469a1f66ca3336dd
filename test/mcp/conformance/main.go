// Command conformance is the client that the conformance kit drives: `conformance URL`, with the scenario in MCP_CONFORMANCE_SCENARIO. It uses a server as an
// execution does, by a session of internal/mcp with the store, the egress and the sign-in of the server. The kit judges what it sees on the wire.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// name is what the kit's server is called here.
const name = "kit"

func run(ctx context.Context) (err error) {
	if len(os.Args) != 2 {
		return errors.New("usage: conformance URL")
	}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	plays := scenarios[scenario]
	if plays == nil {
		plays = signsIn // the kit has dozens of scenarios about it, and judges all that they differ in itself
	}
	u, err := newUser(ctx, os.Args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.close()) }()
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	return plays(ctx, u)
}

// scenarios are what a user of a server does in the scenarios that are not about signing in.
var scenarios = map[string]func(context.Context, *user) error{
	"initialize":                          lists,
	"request-metadata":                    lists,
	"tools_call":                          calls("add_numbers", `{"a":5,"b":3}`),
	"sse-retry":                           calls("test_reconnection", `{}`),
	"elicitation-sep1034-client-defaults": calls("test_client_elicitation_defaults", `{}`),
	"json-schema-ref-no-deref":            lists,
	"json-schema-2020-12-preservation":    echoesSchema,
	"sep-2322-client-request-state":       callsAll,
	"http-standard-headers":               usesAll,
	"http-custom-headers":                 callsOfContext,
	"http-invalid-tool-headers":           callsAll,
}

func lists(ctx context.Context, u *user) error {
	_, err := u.session.Tools(ctx)
	return err
}

// calls is one call.
func calls(tool, arguments string) func(context.Context, *user) error {
	return func(ctx context.Context, u *user) error {
		return u.call(ctx, tool, json.RawMessage(arguments))
	}
}

// callsAll calls each tool. A call may fail: the kit's servers have tools that no client is to call with success.
func callsAll(ctx context.Context, u *user) error {
	tools, err := u.session.Tools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if err := u.call(ctx, tool.Tool, json.RawMessage(`{"region":"us-west1"}`)); err != nil {
			fmt.Fprintln(os.Stderr, tool.Tool, err)
		}
	}
	return nil
}

// echoesSchema hands the schema of a tool back as it was given to us, and as a model would be given it.
func echoesSchema(ctx context.Context, u *user) error {
	tool, err := u.find(ctx, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	arguments, err := json.Marshal(map[string]json.RawMessage{"schema": tool.InputSchema})
	if err != nil {
		return err
	}
	return u.call(ctx, "json_schema_echo", arguments)
}

// usesAll calls a tool, reads a resource and gets a prompt.
func usesAll(ctx context.Context, u *user) error {
	if err := callsAll(ctx, u); err != nil {
		return err
	}
	resources, err := u.session.Resources(ctx, name)
	if err != nil {
		return err
	}
	for _, resource := range resources {
		if _, err := u.session.Read(ctx, name, resource.URI); err != nil {
			return err
		}
	}
	prompts, err := u.session.Prompts(ctx, name)
	if err != nil {
		return err
	}
	for _, prompt := range prompts {
		if _, err := u.session.Prompt(ctx, name, prompt.Name, nil); err != nil {
			return err
		}
	}
	return nil
}

// callsOfContext makes the calls that the kit wants.
func callsOfContext(ctx context.Context, u *user) error {
	var wanted struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted); err != nil {
		return err
	}
	for _, call := range wanted.ToolCalls {
		if err := u.call(ctx, call.Name, call.Arguments); err != nil {
			fmt.Fprintln(os.Stderr, call.Name, err)
		}
	}
	return nil
}

// find returns a tool as it is defined now.
func (u *user) find(ctx context.Context, tool string) (mcp.Tool, error) {
	tools, err := u.session.Tools(ctx)
	if err != nil {
		return mcp.Tool{}, err
	}
	at := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Tool == tool })
	if at < 0 {
		return mcp.Tool{}, fmt.Errorf("the server has no tool %q", tool)
	}
	return tools[at], nil
}

// call calls a tool, and answers with yes what the server asks.
func (u *user) call(ctx context.Context, tool string, arguments json.RawMessage) error {
	defined, err := u.find(ctx, tool)
	if err != nil {
		return err
	}
	call := mcp.Call{
		Server: name, Tool: tool, Definition: defined.Definition, Arguments: arguments,
		Ask: func(form json.RawMessage) (domain.Answer, error) { return agrees(form) },
	}
	for range 5 {
		answer, err := u.session.Call(ctx, call)
		if err != nil || answer.Form == nil {
			return err
		}
		said, err := agrees(answer.Form)
		if err != nil {
			return err
		}
		call.Repeat, call.Answer = answer.Repeat, &said
	}
	return errors.New("the server asks and asks")
}

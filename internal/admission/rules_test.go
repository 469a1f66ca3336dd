package admission

import (
	"strings"
	"testing"

	"signoff/internal/domain"
)

func TestFieldsThatContradictEachOtherAndUnknownNames(t *testing.T) {
	wrong := func(name, fields, pointer string) badInput {
		return badInput{name, "{" + fields + "}", domain.CodeInvalid, pointer}
	}
	with := func(name, field, pointer string) badInput { return wrong(name, valid+","+field, pointer) }
	a := newAdmission()
	for _, row := range []badInput{
		wrong("no source", `"prompt":"x"`, "/source"),
		wrong("source is null", `"source":null,"prompt":"x"`, "/source"),
		wrong("acp without a command", `"source":{"type":"acp"},"prompt":"x"`, "/source/command"),
		wrong("acp in a mode that asks nobody", `"source":{"type":"acp","command":"mock","mode":"yolo"},"prompt":"x"`, "/source/mode"),
		wrong("acp with the internal agent's limit", `"source":{"type":"acp","command":"mock"},"maxIterations":5,"prompt":"x"`, "/maxIterations"),
		wrong("acp with an empty command", `"source":{"type":"acp","command":""},"prompt":"x"`, "/source/command"),
		wrong("acp with a value that is not offered", `"source":{"type":"acp","command":"mock","options":{"effort":"max"}},"prompt":"x"`, "/source/options/effort"),
		{"an agent that is not installed", `{"source":{"type":"acp","command":"absent"},"prompt":"x"}`, domain.CodeAgentUnavailable, "/source/command"},
		wrong("internal with options", `"source":{"type":"internal","options":{"effort":"low"}},"prompt":"x"`, "/source/options"),
		wrong("internal with a command", `"source":{"type":"internal","command":"mock"},"prompt":"x"`, "/source/command"),
		wrong("internal with arguments", `"source":{"type":"internal","args":[]},"prompt":"x"`, "/source/args"),
		wrong("internal with a mode", `"source":{"type":"internal","mode":"ask"},"prompt":"x"`, "/source/mode"),
		{"unknown agent", `{"source":{"type":"acp","command":"/bin/sh"},"prompt":"x"}`, domain.CodeUnknownAgent, "/source/command"},
		{"unknown agent with arguments", `{"source":{"type":"acp","command":"sh","args":["-c"]},"prompt":"x"}`, domain.CodeUnknownAgent, "/source/command"},
		{"arguments of our own", `{"source":{"type":"acp","command":"mock","args":["--yolo"]},"prompt":"x"}`, domain.CodeUnknownAgent, "/source/args"},
		{"no arguments at all", `{"source":{"type":"acp","command":"mock","args":[]},"prompt":"x"}`, domain.CodeUnknownAgent, "/source/args"},
		{"unknown MCP server", `{"source":{"type":"acp","command":"mock"},"prompt":"x","mcpServers":["files","sh"]}`, domain.CodeUnknownMCPServer, "/mcpServers/1"},
		{"unknown MCP server of ours", `{` + valid + `,"mcpServers":["sh"]}`, domain.CodeUnknownMCPServer, "/mcpServers/0"},
		with("a tool of an MCP server that is not there", `"mcpServers":["files"],"tools":{"enabled":["mcp__github__push"]}`, "/tools/enabled/0"),
		{"unknown model", `{"source":{"type":"internal","model":"gpt-9"},"prompt":"x"}`, domain.CodeUnknownModel, "/source/model"},
		{"model with SQL", `{"source":{"type":"internal","model":"' or 1=1 --"},"prompt":"x"}`, domain.CodeUnknownModel, "/source/model"},
		wrong("neither prompt nor messages", `"source":{"type":"internal"}`, "/prompt"),
		with("both prompt and messages", `"messages":[{"role":"user","content":"x"}]`, "/messages"),
		wrong("null prompt", `"source":{"type":"internal"},"prompt":null`, "/prompt"),
		wrong("message without a role", `"source":{"type":"internal"},"messages":[{"content":"x"}]`, "/messages/0/role"),
		wrong("message of the system", `"source":{"type":"internal"},"messages":[{"role":"system","content":"x"}]`, "/messages/0/role"),
		wrong("the assistant speaks last", `"source":{"type":"internal"},"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]`, "/messages/1/role"),
		with("workingDirectory outside", `"workingDirectory":"../.."`, "/workingDirectory"),
		with("metadata with an empty name", `"metadata":{"":"a"}`, "/metadata/"),
		with("metadata with a blank in a name", `"metadata":{"a b":"a"}`, "/metadata/a b"),
		with("metadata with a long name", `"metadata":{"`+strings.Repeat("a", 65)+`":"a"}`, "/metadata/"+strings.Repeat("a", 65)),
	} {
		_, err := a.admit(t, row.body)
		refuses(t, row, err)
	}
}

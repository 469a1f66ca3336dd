package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
	"signoff/internal/tools/hosttest"
)

const runbookScope domain.MemoryScope = "runbook"

func TestMemory(t *testing.T) {
	host := &hosttest.Host{Notes: map[domain.MemoryScope]string{runbookScope: "db1 is slow on Mondays"}}
	steps := []struct {
		tool            tools.Tool
		arguments, told string
	}{
		{tools.MemoryRead{}, `{}`, "(there are no notes; revision 0)"},
		{tools.MemoryRead{}, `{"scope":"runbook"}`, "Revision 1 of the notes of this runbook:\n\ndb1 is slow on Mondays"},
		{tools.MemoryWrite{}, `{"content":"one"}`, "Noted. This is revision 1 of the global notes, which have 3 bytes of at most 65536."},
		{tools.MemoryWrite{}, `{"content":"two\n","scope":"global","mode":"append"}`, "Noted. This is revision 2 of the global notes"},
		{tools.MemoryWrite{}, `{"content":"three"}`, "Noted. This is revision 3 of the global notes"},
		{tools.MemoryRead{}, `{"scope":"global"}`, "Revision 3 of the global notes:\n\none\ntwo\nthree"},
		{tools.MemoryWrite{}, `{"content":"all","mode":"replace","revision":2}`, "The notes have changed since you read them, and nothing was written."},
		{tools.MemoryWrite{}, `{"content":"all","mode":"replace","revision":3}`, "Noted. This is revision 4"},
		{tools.MemoryWrite{}, `{"content":"now","mode":"replace"}`, "Noted. This is revision 5"},
		{tools.MemoryRead{}, `{}`, "Revision 5 of the global notes:\n\nnow"},
		{tools.MemoryRead{}, `{"scope":"runbook"}`, "Revision 1 of the notes of this runbook:"},
	}
	for _, step := range steps {
		if result := read(t, step.tool, host, step.arguments); !strings.HasPrefix(result.Output, step.told) {
			t.Errorf("%s: %q", step.arguments, result.Output)
		}
	}
}

func TestMemoryHasItsBound(t *testing.T) {
	host := &hosttest.Host{Notes: map[domain.MemoryScope]string{domain.GlobalMemory: strings.Repeat("x", domain.MaxMemoryBytes-4)}}
	result := read(t, tools.MemoryWrite{}, host, `{"content":"1234"}`)
	if result.Failure == nil || !strings.Contains(result.Output, "would have 65537 bytes, and at most 65536 are allowed") {
		t.Errorf("got %q", result.Output)
	}
	if result := read(t, tools.MemoryWrite{}, host, `{"content":"123"}`); result.Failure != nil {
		t.Errorf("got %q", result.Output)
	}
	long, _ := json.Marshal(map[string]string{"content": strings.Repeat("x", domain.MaxMemoryBytes+1), "mode": "replace"})
	if _, err := (tools.MemoryWrite{}).Check(long, "/srv"); domain.CodeOf(err) != domain.CodeInvalidArguments {
		t.Errorf("got %v", err)
	}
}

// contended is a host where another execution writes just before each of the first saves.
type contended struct {
	*hosttest.Host
	faster int
}

func (c *contended) SaveMemory(ctx context.Context, scope domain.MemoryScope, revision int64, content string) (domain.Memory, error) {
	if c.faster > 0 {
		c.faster--
		memory, _ := c.Memory(ctx, scope)
		if _, err := c.Host.SaveMemory(ctx, scope, memory.Revision, memory.Content+"theirs\n"); err != nil {
			return domain.Memory{}, err
		}
	}
	return c.Host.SaveMemory(ctx, scope, revision, content)
}

func TestMemoryAppendsBesideOthers(t *testing.T) {
	host := &contended{&hosttest.Host{}, 3}
	if result := read(t, tools.MemoryWrite{}, host, `{"content":"ours"}`); result.Failure != nil {
		t.Errorf("got %q", result.Output)
	}
	if memory, _ := host.Memory(t.Context(), domain.GlobalMemory); memory.Content != "theirs\ntheirs\ntheirs\nours" {
		t.Errorf("noted is %q", memory.Content)
	}
	host.faster = 4
	if result := read(t, tools.MemoryWrite{}, host, `{"content":"ours"}`); result.Failure == nil || result.Failure.Code != domain.CodeConflict {
		t.Errorf("got %+v", result)
	}
	host.faster = 1
	result := read(t, tools.MemoryWrite{}, host, `{"content":"ours","mode":"replace"}`)
	if result.Failure == nil || !strings.Contains(result.Output, "Read them again.") {
		t.Errorf("a replacement went over a note that nobody read: %+v", result)
	}
}

// homeless is the host of an execution without a runbook.
type homeless struct{ *hosttest.Host }

func (homeless) Memory(context.Context, domain.MemoryScope) (domain.Memory, error) {
	return domain.Memory{}, domain.Errorf(domain.CodeInvalid, "This execution belongs to no runbook.")
}

func TestMemoryWithoutARunbook(t *testing.T) {
	for _, arguments := range []string{`{"scope":"runbook","content":"x"}`, `{"scope":"runbook","content":"x","mode":"replace"}`} {
		if result := read(t, tools.MemoryWrite{}, homeless{}, arguments); result.Output != "This execution belongs to no runbook." {
			t.Errorf("%s: %+v", arguments, result)
		}
	}
	if result := read(t, tools.MemoryRead{}, homeless{}, `{"scope":"runbook"}`); result.Output != "This execution belongs to no runbook." {
		t.Errorf("%+v", result)
	}
}

func TestMemorySummaries(t *testing.T) {
	tests := []struct {
		tool            tools.Tool
		arguments, want string
	}{
		{tools.MemoryRead{}, `{"scope":"runbook"}`, "Read the notes of this runbook"},
		{tools.MemoryWrite{}, `{"content":"a\nb"}`, "Append to the global notes, which are a part of later prompts: `a⏎b`"},
		{tools.MemoryWrite{}, `{"content":"a","mode":"replace","scope":"runbook"}`,
			"Replace the notes of this runbook, which are a part of later prompts, by `a`"},
	}
	for _, test := range tests {
		if got, err := test.tool.Check(json.RawMessage(test.arguments), "/srv"); err != nil || got.Summary != test.want {
			t.Errorf("got %q, %v", got.Summary, err)
		}
	}
}

func TestMemoryRefuses(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"content":"x","scope":"runbook:other"}`:          "one of: global, runbook",
		`{"content":"x","mode":"delete"}`:                  "one of: append, replace",
		`{"content":"x","revision":3}`:                     "replace",
		`{"content":"x","mode":"replace","revision":-1}`:   "must be from 0",
		`{"content":""}`:                                   "is empty",
		`{"content":"x","scope":["global"]}`:               "one of: global, runbook",
		`{"content":"x","mode":"replace","revision":"3"}`:  "whole number",
		`{"content":"x","mode":"replace","runbookId":"a"}`: `no field "runbookId"`,
	} {
		_, err := tools.MemoryWrite{}.Check(json.RawMessage(arguments), "/srv")
		if domain.CodeOf(err) != domain.CodeInvalidArguments || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

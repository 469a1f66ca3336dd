package llm

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/tools"
)

func newToolsets() *toolsets {
	known := tools.NewRegistry(tools.Bash{}, tools.Read{}, tools.Think{}, tools.AskUser{}, tools.SubmitBlocks{})
	return &toolsets{known: known, made: map[string]*toolset{}}
}

// TestToolsetsAreShared by all requests that have the same tools, whatever the reason is that they have them, and by no other.
func TestToolsetsAreShared(t *testing.T) {
	first := domain.Request{Capabilities: domain.DefaultCapabilities}
	for name, test := range map[string]struct {
		change func(*domain.Request)
		shared bool
	}{
		"the same":                   {func(*domain.Request) {}, true},
		"another prompt":             {func(r *domain.Request) { r.Prompt = "Go" }, true},
		"all are named":              {func(r *domain.Request) { r.Tools.Enabled = []string{"think", "bash", "read", "ask_user"} }, true},
		"one less":                   {func(r *domain.Request) { r.Unattended = true }, false},
		"types of blocks":            {func(r *domain.Request) { r.Runbook.BlockTypes = []domain.BlockType{{Type: "script"}} }, false},
		"an assistant":               {func(r *domain.Request) { r.Kind = domain.KindAssistant }, false},
		"a generation":               {func(r *domain.Request) { r.Kind = domain.KindGeneration }, false},
		"a tool that the client has": {func(r *domain.Request) { r.ClientTools = []domain.ClientTool{clientTool()} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			sets, second := newToolsets(), first
			test.change(&second)
			want, err := sets.of(first)
			if err != nil {
				t.Fatal(err)
			}
			got, err := sets.of(second)
			if err != nil || (got == want) != test.shared {
				t.Errorf("shared: %v, %v", got == want, err)
			}
			if plain, err := newToolset(sets.known, second); err != nil || !slices.Equal(plain.names(), got.names()) {
				t.Errorf("got %v, want %v, %v", got.names(), plain.names(), err)
			}
		})
	}
}

func clientTool() domain.ClientTool {
	return domain.ClientTool{Name: "beep", Description: "Beeps.", Class: domain.ClassNone, Schema: []byte(`{"type":"object"}`)}
}

// TestToolsetsAreBounded: a client that enables ever other tools gets them, and fills no memory. All come at once.
func TestToolsetsAreBounded(t *testing.T) {
	var list []tools.Tool
	for i := range mostToolsets + 20 {
		list = append(list, numbered{number: i})
	}
	sets := &toolsets{known: tools.NewRegistry(list...), made: map[string]*toolset{}}
	var asking sync.WaitGroup
	for _, definition := range sets.known.Definitions() {
		asking.Go(func() {
			request := domain.Request{Capabilities: domain.DefaultCapabilities, Tools: domain.ToolSettings{Enabled: []string{definition.Name}}}
			if got, err := sets.of(request); err != nil || !slices.Equal(got.names(), []string{definition.Name}) {
				t.Errorf("%s: %v", definition.Name, err)
			}
		})
	}
	asking.Wait()
	if len(sets.made) != mostToolsets {
		t.Errorf("%d are kept", len(sets.made))
	}
}

// numbered is a tool with a name of its own.
type numbered struct {
	tools.Think

	number int
}

func (n numbered) Definition() tools.Definition {
	definition := n.Think.Definition()
	definition.Name = fmt.Sprintf("tool%d", n.number)
	return definition
}

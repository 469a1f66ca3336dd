package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
	"signoff/test/harness"
)

// mcpProgram is the argument with which this binary is an MCP server over its standard streams.
const mcpProgram = "mcp-notes"

func serveNotes() {
	if err := (&notes{}).server().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// TestAnMCPServerThatIsAProgram lives as long as its execution is driven here, and starts with the first call. The model is told when its memory is lost.
func TestAnMCPServerThatIsAProgram(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	must(t, err)
	s := newServer(t, engine{}, newModel(t, func(a *answer, conversation []message) {
		if last(conversation).Role == "tool" {
			a.Say("told: ", last(conversation).Content)
			return
		}
		a.Want("mcp__notes__keep", object{"note": "milk"})
	}))
	s.section("mcpServers", object{"notes": object{"command": program, "args": []string{mcpProgram}}})
	s.start()
	id := s.create(object{"mcpServers": []string{"notes"}, "keepOpen": true, "capabilities": object{"mcp": "allow"}}).ID
	again := func(turn int) string {
		if turn > 1 {
			want[object](s.client, http.StatusAccepted, "POST", "/executions/"+id+"/prompts", object{"prompt": "again"})
		}
		s.eventually("the end of the turn", func() bool { return len(of[domain.TurnEnded](t, s.page(id))) == turn })
		results := of[domain.ToolCallCompleted](t, s.page(id))
		return results[len(results)-1].Output
	}
	if first, second := again(1), again(2); !strings.Contains(first, `{"kept":1}`) || !strings.Contains(second, `{"kept":2}`) {
		t.Errorf("one process answers %s, then %s", first, second)
	}
	before := s.below()
	s.stop()
	if left := soon(func() []harness.Proc { return alive(before) }); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
	s.start()
	if third := again(3); !strings.Contains(third, "started again") || !strings.Contains(third, `{"kept":1}`) {
		t.Errorf("another process answers %s", third)
	}
	if told := of[domain.MCPServerRestarted](t, s.page(id)); len(told) != 1 || told[0].Server != "notes" {
		t.Errorf("the log tells of %+v", told)
	}
}

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"signoff/internal/domain"
)

// notes is an MCP server that keeps what it is told.
type notes struct {
	mu   sync.Mutex
	kept []string
}

func (n *notes) server() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "keep", Description: "Keeps a note."}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Note string `json:"note"`
	}) (*mcp.CallToolResult, struct {
		Kept int `json:"kept"`
	}, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.kept = append(n.kept, in.Note)
		return nil, struct {
			Kept int `json:"kept"`
		}{len(n.kept)}, nil
	})
	return server
}

func (n *notes) all() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.kept, ",")
}

// TestAToolOfAnMCPServer through the API: nothing is sent to the server before a person has said yes, and then once, word for word.
func TestAToolOfAnMCPServer(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(t *testing.T, e engine) {
		kept := &notes{}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		tools := serveAt(t, listener, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return kept.server() }, nil))
		s := newServer(t, e, newModel(t, inTurn(calls("mcp__notes__keep", object{"note": "milk"}), func(a *answer, conversation []message) {
			a.Say("told: ", last(conversation).Content)
		})))
		s.section("mcpServers", object{"notes": object{"url": tools.URL}, "others": object{"url": tools.URL, "tenants": []string{"acme"}}})
		s.start()

		stranger := s.with(s.newKey("--name", "stranger", "--scopes", "executions:write,mcp:use:others"))
		unknown := stranger.refused(http.StatusUnprocessableEntity, "unknownMcpServer", "POST", "/executions",
			object{"source": object{"type": "internal"}, "prompt": "go", "mcpServers": []string{"notes"}})
		if strings.Contains(unknown.Detail, "others") {
			t.Errorf("it tells of a server of another tenant: %s", unknown.Detail)
		}

		id := s.create(object{"mcpServers": []string{"notes"}}).ID
		a := s.asked(id, 1)[0]
		if a.Tool != "mcp__notes__keep" || a.Summary != "Call `keep` of the MCP server `notes` with `{\"note\":\"milk\"}`" {
			t.Errorf("a person is asked about %s: %s", a.Tool, a.Summary)
		}
		if kept.all() != "" {
			t.Errorf("the server was sent %s before anybody decided", kept.all())
		}
		s.decide(a)
		end := s.ended(id)
		if end.Status != "completed" || !strings.Contains(end.Output.Text, "Data from the MCP server `notes`") || !strings.Contains(end.Output.Text, `{"kept":1}`) {
			t.Errorf("ended: %+v %+v", end, end.Output)
		}
		if kept.all() != "milk" {
			t.Errorf("the server was sent %s", kept.all())
		}
		if shown := want[object](s.client, http.StatusOK, "GET", "/mcp-servers", nil); !strings.Contains(fmt.Sprint(shown), "keep") {
			t.Errorf("the list of servers is %v", shown)
		}
		log := s.sound(id)
		called := of[domain.ToolCallRequested](t, log)[0]
		if called.Class != domain.ClassMCP || called.MCP == nil || called.MCP.Server != "notes" || called.MCP.Tool != "keep" || len(called.MCP.Definition) != 64 {
			t.Errorf("the log has %+v", called)
		}
	})
}

package acp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/acp/wire"
	"signoff/internal/domain"
)

func TestClasses(t *testing.T) {
	for _, test := range []struct {
		kind, tool string
		want       domain.Class
	}{
		{"read", "Read", domain.ClassRead}, {"search", "grep", domain.ClassRead}, {"edit", "Edit", domain.ClassWrite},
		{"delete", "rm", domain.ClassWrite}, {"move", "mv", domain.ClassWrite}, {"execute", "Bash", domain.ClassExecute},
		{"fetch", "WebFetch", domain.ClassNetwork}, {"other", "mcp__github__create_issue", domain.ClassMCP},
		{"read", "mcp__files__read", domain.ClassMCP}, {"think", "Task", domain.ClassDelegate}, {"think", "think", domain.ClassOther},
		{"", "mcp__", domain.ClassMCP}, {"read", "mcp____x", domain.ClassMCP}, {"read", "mcp__x", domain.ClassMCP}, {"switch_mode", "x", domain.ClassOther}, {"read", "task", domain.ClassRead},
	} {
		c := &toolCall{tool: test.tool}
		c.learn(wire.Object{"kind": domain.Encode(test.kind), "name": domain.Encode(test.tool)})
		if c.class != test.want {
			t.Errorf("%s %s is %s", test.kind, test.tool, c.class)
		}
	}
}

// TestActions: what different agents send is one action for the policy.
func TestActions(t *testing.T) {
	for name, test := range map[string]struct {
		tool, kind, arguments, told string
		want                        domain.Action
	}{
		"a line":                  {"Bash", "execute", `{"command":"ls -la","description":"x"}`, ``, domain.Action{Command: "ls -la"}},
		"a shell with its line":   {"shell", "execute", `{"command":["bash","-lc","ls | wc"]}`, ``, domain.Action{Command: "ls | wc"}},
		"a program":               {"shell", "execute", `{"command":["git","commit","-m","it's; rm x"]}`, ``, domain.Action{Command: `git commit -m 'it'\''s; rm x'`}},
		"a terminal":              {"terminal", "execute", `{"command":"git","args":["log","$x"],"env":{"LD_PRELOAD":"a b"}}`, ``, domain.Action{Command: `LD_PRELOAD='a b' git log '$x'`}},
		"in the folder":           {"terminal", "execute", `{"command":"git","args":["log"],"cwd":"/w/"}`, ``, domain.Action{Command: "git log"}},
		"in another folder":       {"terminal", "execute", `{"command":"git","args":["log"],"cwd":"it's"}`, ``, domain.Action{Command: `cd '/w/it'\''s' && git log`}},
		"a folder and no command": {"list", "read", `{"cwd":"/x"}`, ``, domain.Action{}},
		"told before it asked":    {"shell", "execute", `{}`, `{"rawInput":{"command":"ls"}}`, domain.Action{Command: "ls"}},
		"not told":                {"shell", "execute", `{}`, ``, domain.Action{}},
		"a file":                  {"Edit", "edit", `{"file_path":"/w/a","old_string":"x"}`, ``, domain.Action{Paths: []string{"/w/a"}}},
		"a relative file":         {"edit", "edit", `{"path":"a/../b"}`, ``, domain.Action{Paths: []string{"/w/b"}}},
		"locations":               {"patch", "edit", `{"diff":"x"}`, `{"locations":[{"path":"/w/a"},{"path":"c"},{"path":"/w/a"}]}`, domain.Action{Paths: []string{"/w/a", "/w/c"}}},
		"a page":                  {"WebFetch", "fetch", `{"url":"https://docs.example.org:8443/x"}`, ``, domain.Action{Hosts: []string{"docs.example.org"}}},
		"a search of the web":     {"WebSearch", "fetch", `{"query":"x"}`, ``, domain.Action{}},
		"a tool of an MCP server": {"mcp__github__create_issue", "other", `{"title":"x"}`, ``, domain.Action{Server: "github"}},
		"a command as a reading":  {"Read", "read", `{"command":["bash","-lc","cat x; rm y"]}`, ``, domain.Action{Command: "cat x; rm y"}},
		"a program and more":      {"shell", "execute", `{"command":["git"],"args":["log"]}`, ``, domain.Action{Command: "git log"}},
		"an environment alone":    {"edit", "edit", `{"env":{"A":"b"}}`, ``, domain.Action{}},
		"a page as a reading":     {"Read", "read", `{"url":"http://169.254.169.254/","href":"//a.example/x"}`, ``, domain.Action{Hosts: []string{"169.254.169.254", "a.example"}}},
		"a file is no host":       {"Read", "read", `{"uri":"file:///w/a"}`, ``, domain.Action{}},
		"no address":              {"Read", "read", `{"url":"http://a b/"}`, ``, domain.Action{Hosts: []string{"http://a b/"}}},
		"a page told before":      {"Read", "read", `{}`, `{"rawInput":{"url":"https://a.example"}}`, domain.Action{Hosts: []string{"a.example"}}},
		"no server":               {"mcp____x", "read", `{}`, ``, domain.Action{}},
		"hostile":                 {"shell", "execute", `{"command":{"a":1},"args":"x","env":[1]}`, `{"locations":"x","rawInput":7}`, domain.Action{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &toolCall{tool: test.tool, folder: "/w", arguments: json.RawMessage(test.arguments)}
			c.learn(wire.Object{"kind": domain.Encode(test.kind), "name": domain.Encode(test.tool)})
			if test.told != "" {
				c.describe(wire.ReadObject(json.RawMessage(test.told)))
			}
			if diff := cmp.Diff(test.want, c.action()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTheStricterKindCounts: what an agent announces mildly, and asks about as what it is, is what it is.
func TestTheStricterKindCounts(t *testing.T) {
	for name, test := range map[string]struct {
		tool  string
		kinds []string
		want  domain.Class
	}{
		"a command behind a reading":     {"x", []string{"read", "execute"}, domain.ClassExecute},
		"a reading behind a command":     {"x", []string{"execute", "read"}, domain.ClassExecute},
		"a report that says nothing":     {"x", []string{"edit", ""}, domain.ClassWrite},
		"nothing was said before":        {"x", []string{"", "read"}, domain.ClassRead},
		"nothing was said twice before":  {"x", []string{"", "", "edit"}, domain.ClassWrite},
		"nothing was ever said":          {"x", []string{"", ""}, domain.ClassOther},
		"a writing behind a reading":     {"x", []string{"read", "edit", "search"}, domain.ClassWrite},
		"the network behind a writing":   {"x", []string{"edit", "fetch"}, domain.ClassNetwork},
		"a command behind the network":   {"x", []string{"fetch", "execute"}, domain.ClassExecute},
		"what nobody knows is strictest": {"x", []string{"execute", "strange", "read"}, domain.ClassOther},
		"another agent":                  {"task", []string{"fetch", "think", "read"}, domain.ClassDelegate},
		"a tool of a server":             {"mcp__a__b", []string{"read", "execute"}, domain.ClassMCP},
	} {
		t.Run(name, func(t *testing.T) {
			c := &toolCall{tool: test.tool}
			for _, kind := range test.kinds {
				c.learn(wire.Object{"kind": domain.Encode(kind), "name": domain.Encode(test.tool)})
			}
			if c.class != test.want {
				t.Errorf("it is %s, want %s", c.class, test.want)
			}
		})
	}
}

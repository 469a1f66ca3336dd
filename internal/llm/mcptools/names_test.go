package mcptools_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"signoff/internal/llm/mcptools"
	"signoff/internal/llm/mcptools/mcptoolstest"
	"signoff/internal/mcp"
)

func setOf(session mcptools.Session, config mcptools.Config, list ...mcp.Tool) *mcptools.Set {
	config.Session = session
	if config.Mask == nil {
		config.Mask = func(text string) string { return text }
	}
	config.MaskJSON = func(document json.RawMessage) json.RawMessage { return document }
	if config.Taken == nil {
		config.Taken = func(string) bool { return false }
	}
	for _, tool := range list {
		if !slices.Contains(config.Servers, tool.Server) {
			config.Servers = append(config.Servers, tool.Server)
		}
	}
	return mcptools.New(config, list)
}

const anyObject = `{"type":"object"}`

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// TestNamesAreTakenByEveryModel, tell all tools apart, and depend on no other tool, whatever servers and tools are called.
func TestNamesAreTakenByEveryModel(t *testing.T) {
	serverName := rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{0,63}|a_?_?_?b?`)
	toolName := rapid.OneOf(rapid.StringMatching(`_{0,3}[a-c]{0,3}(__)?[a-c.]?`), rapid.StringN(0, 100, 200), rapid.StringMatching(`[a-z_/.]{0,120}`))
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) [2]string {
			return [2]string{serverName.Draw(t, "server"), toolName.Draw(t, "tool")}
		}), 1, 30, func(p [2]string) [2]string { return p }).Draw(t, "pairs")
		var list []mcp.Tool
		for _, pair := range pairs {
			list = append(list, mcptoolstest.Tool(pair[0], pair[1], "", anyObject))
		}
		names := map[string]bool{}
		for _, tool := range setOf(nil, mcptools.Config{}, list...).Tools() {
			name := tool.Definition().Name
			if !nameForm.MatchString(name) || names[name] {
				t.Fatalf("%q is no name, or is there twice", name)
			}
			names[name] = true
		}
		for _, pair := range pairs {
			name := mcptools.NameOf(pair[0], pair[1])
			if !names[name] {
				t.Fatalf("%q has another name among others than alone", pair)
			}
			if server, is := mcptools.ServerOf(name, []string{pair[0]}); !is || server != pair[0] {
				t.Fatalf("%q is said to be of %q", pair, server)
			}
		}
		if len(names) != len(pairs) {
			t.Fatalf("%d tools have %d names", len(pairs), len(names))
		}
	})
}

func TestNamesAreReadable(t *testing.T) {
	for want, pair := range map[string][2]string{
		"mcp__github__list_issues":     {"github", "list_issues"},
		"mcp__a__b__c":                 {"a", "b__c"},
		"mcp__fs__read_file_xyz_" + "": {"fs", "read.file/xyz"},
		"mcp__a__b__c_":                {"a__b", "c"},
	} {
		got := mcptools.NameOf(pair[0], pair[1])
		if shortened := strings.HasSuffix(want, "_"); got != want && (!shortened || !strings.HasPrefix(got, want)) {
			t.Errorf("%v is %s, want %s", pair, got, want)
		}
	}
	if long := mcptools.NameOf("github", strings.Repeat("x", 90)); len(long) != 64 || !strings.HasPrefix(long, "mcp__github__xxxxx") {
		t.Errorf("got %s", long)
	}
}

// TestAToolCannotTakeTheNameOfAnother: a server may choose any name for its tools.
func TestAToolCannotTakeTheNameOfAnother(t *testing.T) {
	victim := mcptoolstest.Tool("a__b", "c", "victim", anyObject)
	name := mcptools.NameOf("a__b", "c")
	impostor := mcptoolstest.Tool("a", strings.TrimPrefix(name, "mcp__a__"), "impostor", anyObject)
	for _, list := range [][]mcp.Tool{{victim, impostor}, {impostor, victim}} {
		var got []string
		for _, tool := range setOf(nil, mcptools.Config{}, list...).Tools() {
			definition := tool.Definition()
			got = append(got, fmt.Sprint(definition.Name == name, strings.HasSuffix(definition.Description, "victim")))
		}
		slices.Sort(got)
		if !slices.Equal(got, []string{"false false", "true true"}) {
			t.Errorf("got %v", got)
		}
	}
	taken := func(other string) bool { return other == "mcp__a__b" } // by a tool of the client
	tools := setOf(nil, mcptools.Config{Taken: taken}, mcptoolstest.Tool("a", "b", "", anyObject)).Tools()
	if got := tools[0].Definition().Name; got == "mcp__a__b" || !strings.HasPrefix(got, "mcp__a__b_") {
		t.Errorf("got %s", got)
	}
}

func TestNamesThatARequestMayEnable(t *testing.T) {
	for name, may := range map[string]bool{
		"mcp__a__read": true, "mcp__a__*": true, "mcp__*": true, "mcp__a__re*": true, "mcp__b__read": false, "mcp__a*": false, "mcp__a__*x": false,
		"mcp__a__ü": false, "*": false, "bash": false, "mcp__": false,
	} {
		if got := mcptools.OfServers(name, []string{"a"}); got != may {
			t.Errorf("%s: %v", name, got)
		}
	}
	if mcptools.OfServers("mcp__*", nil) {
		t.Error("there are no servers")
	}
}

func TestToolsThatARequestEnables(t *testing.T) {
	long := strings.Repeat("s", 60)
	list := []mcp.Tool{
		mcptoolstest.Tool("a", "read", "", anyObject), mcptoolstest.Tool("a", "write", "", anyObject), mcptoolstest.Tool("b", "read", "", anyObject),
		mcptoolstest.Tool(long, "read", "", anyObject), mcptoolstest.Tool("a__hub", "read", "", anyObject), mcptoolstest.Tool("ab", "read", "", anyObject),
	}
	servers := []string{"a", "b", long, "a__hub", "ab"}
	for enabled, want := range map[string]string{
		"bash": "", "mcp__*": "a.read a.write a__hub.read ab.read b.read s.read", "mcp__a__*": "a.read a.write", "mcp__a__read": "a.read",
		"mcp__" + long + "__*": "s.read", mcptools.NameOf(long, "read"): "s.read", "mcp__a__re*": "a.read", "mcp__a__hub__*": "a__hub.read", "mcp__ab__*": "ab.read", "*": "", "mcp_*": "",
	} {
		var got []string
		for _, tool := range setOf(nil, mcptools.Config{Servers: servers, Enabled: []string{"think", enabled}}, list...).Tools() {
			intent, err := tool.Check([]byte(`{}`), "")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.Replace(intent.MCP.Server, long, "s", 1)+"."+intent.MCP.Tool)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s enables %v, want %s", enabled, got, want)
		}
	}
}

package admission

import (
	"errors"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/keys"
)

// TestWhoMayUseMCPServers: a key uses the servers of its tenant that its scopes open, with any agent. Others do not exist for it.
func TestWhoMayUseMCPServers(t *testing.T) {
	const known = "; there are: "
	for name, test := range map[string]struct {
		tenant  domain.TenantID
		scopes  string
		servers string
		code    domain.Code // empty: admitted
		told    string
	}{
		"all of the tenant":           {"default", "mcp:use", `"files","github"`, "", ""},
		"one by name":                 {"default", "mcp:use:files", `"files"`, "", ""},
		"two by name":                 {"default", "mcp:use:files mcp:use:github", `"github","files"`, "", ""},
		"none":                        {"default", "executions:write", `"files"`, domain.CodeForbidden, "mcp:use"},
		"another one":                 {"default", "mcp:use:files", `"files","github"`, domain.CodeUnknownMCPServer, known + "files."},
		"one that is not there":       {"default", "mcp:use:files", `"sh"`, domain.CodeUnknownMCPServer, known + "files."},
		"of another tenant":           {"default", "mcp:use", `"hidden"`, domain.CodeUnknownMCPServer, known + "files, github."},
		"of another tenant, by name":  {"default", "mcp:use:hidden", `"hidden"`, domain.CodeUnknownMCPServer, "; there are none."},
		"of the tenant alone":         {"acme", "mcp:use", `"hidden"`, "", ""},
		"a scope that only begins so": {"default", "mcp:use:fil mcp:user", `"files"`, domain.CodeUnknownMCPServer, "; there are none."},
		"none named, none needed":     {"default", "executions:write", ``, "", ""},
	} {
		for source, body := range map[string]string{"internal": valid, "acp": `"source":{"type":"acp","command":"mock"},"prompt":"x"`} {
			t.Run(name+", "+source, func(t *testing.T) {
				by := keys.Principal{Tenant: test.tenant, Scopes: strings.Fields(test.scopes)}
				request, err := newAdmission().Admit(t.Context(), by, bodyOf(t, `{`+body+`,"mcpServers":[`+test.servers+`]}`), nil)
				if test.code == "" {
					if err != nil || len(request.MCPServers) != len(strings.Fields(strings.ReplaceAll(test.servers, ",", " "))) {
						t.Errorf("%v, %v", request.MCPServers, err)
					}
					return
				}
				var coded *domain.Error
				if !errors.As(err, &coded) || coded.Code != test.code || !strings.Contains(coded.Message, test.told) || strings.Contains(coded.Message, "hidden.") ||
					!strings.HasPrefix(coded.Details[0].Pointer, "/mcpServers") {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// TestMCPServersOfOurAgent: an older server would drive the execution without them, and who generates blocks has none.
func TestMCPServersOfOurAgent(t *testing.T) {
	request, err := newAdmission().admit(t, `{`+valid+`,"mcpServers":["files"],"tools":{"enabled":["think","mcp__files__*","mcp__files__read"]}}`)
	if err != nil || request.Requires != domain.RequiresMCPServers {
		t.Errorf("%+v, %v", request, err)
	}
	if request, err = newAdmission().admit(t, `{`+valid+`}`); err != nil || request.Requires >= domain.RequiresMCPServers {
		t.Errorf("%+v, %v", request, err)
	}
}

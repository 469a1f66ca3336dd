package main

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/goccy/go-yaml"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/domain"
	"signoff/internal/http"
	"signoff/internal/llm/mcptools"
	"signoff/internal/secrets"
	"signoff/internal/tools"
)

// openTools makes the tools of the internal agent, in the order in which the model reads about them.
func (f configFile) openTools() (*tools.Registry, error) {
	list := []tools.Tool{
		tools.Bash{}, tools.Read{}, tools.List{}, tools.Search{}, tools.Edit{}, tools.Patch{}, tools.Write{},
		tools.Think{}, tools.NewReadSchema(documentSchemas), tools.AskUser{}, tools.MemoryRead{}, tools.MemoryWrite{}, tools.WebFetch{},
		tools.GetRunbookDocument{}, tools.GetBlockDocs{}, tools.GetDefaultShell{}, tools.SubmitBlocks{},
		mcptools.Search{}, mcptools.Resources{}, mcptools.Read{},
		tools.NewDelegate(), tools.AwaitDelegates{}, tools.MessageDelegate{}, tools.CancelDelegate{},
	}
	if f.WebSearch == nil {
		return tools.NewRegistry(list...), nil
	}
	search, err := tools.NewWebSearch(tools.SearchConfig{
		Provider: f.WebSearch.Provider, URL: f.WebSearch.URL, APIKey: f.searchKey(),
	})
	if err != nil {
		return nil, f.mistake(domain.Invalid("/webSearch", "%s", domain.FailureOf(err).Message))
	}
	return tools.NewRegistry(append(list, search)...), nil
}

func (f configFile) searchKey() string {
	if f.WebSearch == nil || f.WebSearch.APIKeyEnv == "" {
		return ""
	}
	return os.Getenv(f.WebSearch.APIKeyEnv)
}

// documentSchemas are the schemas of the contract, for agents that write for this API.
func documentSchemas() (map[string]json.RawMessage, error) {
	var document struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	plain, err := yaml.YAMLToJSON(api.Document)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(plain, &document)
	return document.Components.Schemas, err
}

// shownTools shows the tools to clients and to admission.
type shownTools struct{ *tools.Registry }

var (
	_ http.Tools      = shownTools{}
	_ admission.Tools = shownTools{}
)

// Tools lists the tools.
func (s shownTools) Tools() []http.ToolInfo {
	var infos []http.ToolInfo
	for _, d := range s.Definitions() {
		infos = append(infos, http.ToolInfo{Name: d.Name, Version: d.Version, Class: d.Class, Description: d.Description, Schema: d.Schema})
	}
	return infos
}

// Names lists the tools by name.
func (s shownTools) Names() []string {
	var names []string
	for _, d := range s.Definitions() {
		names = append(names, d.Name)
	}
	return names
}

// Missing implements [admission.Tools].
func (s shownTools) Missing(name string) string {
	if _, there := s.Lookup(name); there || name != tools.WebSearchName {
		return ""
	}
	return "was left out: the server has no search provider, which is webSearch in signoff.yaml"
}

// OfMCPServers implements [admission.Tools].
func (shownTools) OfMCPServers(name string, servers []string) bool {
	return mcptools.OfServers(name, servers)
}

// knownSecrets checks the secrets that a request names.
type knownSecrets struct{ *secrets.Vault }

var _ admission.Secrets = knownSecrets{}

// Check refuses a name that is not configured.
func (k knownSecrets) Check(names []string) error {
	for _, name := range names {
		if k.Has(name) {
			continue
		}
		message := "The server has no secrets configured."
		if all := k.Names(); len(all) > 0 {
			message = "There is no such secret; there are " + strings.Join(all, ", ") + "."
		}
		return domain.Errorf(domain.CodeUnknownSecret, "%s", message)
	}
	return nil
}

// Package admissiontest has the registries that tests of requests admit by, small and fixed, and parts of request bodies.
package admissiontest

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"signoff/internal/domain"
	"signoff/internal/environments"
	"signoff/internal/runbooks/template"
)

// Agents is a registry of external agents: mock and isolated, which are there, and absent, which is not installed.
type Agents struct{}

// Names implements [admission.Agents].
func (Agents) Names() []string { return []string{"absent", "isolated", "mock"} }

// Resolve implements admission.Agents.
func (Agents) Resolve(command string, args []string) (string, error) {
	if command != "mock" && command != "absent" && command != "isolated" {
		return "", domain.Errorf(domain.CodeUnknownAgent, "There is no such agent; there are mock, absent.")
	}
	if args != nil && !slices.Equal(args, []string{"--acp"}) {
		return "", domain.Errorf(domain.CodeUnknownAgent, "The agent has other arguments in the registry; there are mock, absent.")
	}
	return command, nil
}

// CheckOptions takes the first value of an option and no other.
func (Agents) CheckOptions(_ domain.Source, options map[string]string, offered []domain.AgentOption) error {
	for _, option := range offered {
		if value := options[option.ID]; value != "" && option.Choices[0].Value != value {
			return domain.Invalid("/options/"+option.ID, "The agent offers %s.", option.Choices[0].Value)
		}
	}
	return nil
}

// Environment implements [admission.Agents]: the agent "isolated" runs in the environment app.
func (Agents) Environment(name string) string {
	if name == "isolated" {
		return "app"
	}
	return ""
}

// CheckSettings implements [admission.Models]: "dear" does not take the effort max.
func (m Models) CheckSettings(source domain.Source, pointer string) error {
	if source.ModelSettings().Effort == "max" && slices.Contains(append([]string{source.Model}, source.Fallbacks...), "dear") {
		return domain.Invalid(pointer+"/effort", "The model dear does not take the effort max.")
	}
	return nil
}

// CheckParts implements [admission.Models]: all but "dear" take everything.
func (m Models) CheckParts(source domain.Source, pointer string, parts []domain.PromptPart) error {
	if source.Model == "dear" && len(domain.FileParts(parts)) > 0 {
		return domain.Invalid(pointer, "The model dear takes no files.")
	}
	return nil
}

// CheckParts implements [admission.Agents]: the agents take no pictures and files.
func (Agents) CheckParts(_ context.Context, _ domain.Source, pointer string, parts []domain.PromptPart) error {
	if len(domain.FileParts(parts)) > 0 {
		return domain.Invalid(pointer, "The agent takes no files.")
	}
	return nil
}

// Installed misses absent.
func (Agents) Installed(name string) error {
	if name == "absent" {
		return domain.Errorf(domain.CodeAgentUnavailable, "absent is not installed; type: npm install -g absent")
	}
	return nil
}

// Check refuses the mode yolo and the effort max.
func (a Agents) Check(source domain.Source) error {
	if source.Mode == "yolo" {
		return domain.Invalid("/source/mode", "In this mode nobody is asked.")
	}
	if effort := source.Options["effort"]; effort == "max" {
		return domain.Invalid("/source/options/effort", "The agent does not offer it. It offers: low, high.")
	}
	return a.Installed(source.Command)
}

// MCPServers has files and github, and for the tenant acme hidden.
type MCPServers struct{}

// Names lists them.
func (MCPServers) Names(tenant domain.TenantID) []string {
	if tenant == "acme" {
		return []string{"files", "github", "hidden"}
	}
	return []string{"files", "github"}
}

// Models is a registry of models by name. The first is the default, and only "dear" has a price.
type Models []string

// Has tells whether there is such a model.
func (m Models) Has(name string) bool {
	for _, known := range m {
		if known == name {
			return true
		}
	}
	return false
}

// Names lists them.
func (m Models) Names() []string { return m }

// Priced knows what one model costs.
func (m Models) Priced(name string) bool { return name == "dear" }

// Entry says that each model is a vendor's.
func (m Models) Entry(name string) (provider, model string) { return "openai", "vendors-" + name }

// Default is the first, empty where there is none.
func (m Models) Default() string {
	if len(m) == 0 {
		return ""
	}
	return m[0]
}

// Tools is a registry of tools by name.
type Tools []string

// Missing implements [admission.Tools]: the server knows a crystal ball, and has none.
func (t Tools) Missing(name string) string {
	if name == "crystal_ball" {
		return "was left out: the server has no crystal"
	}
	return ""
}

// Names lists them.
func (t Tools) Names() []string { return t }

// OfMCPServers knows the names of the servers' tools by their beginning.
func (Tools) OfMCPServers(name string, servers []string) bool {
	return slices.ContainsFunc(servers, func(server string) bool { return strings.HasPrefix(name, "mcp__"+server+"__") })
}

// Secrets is a registry of secrets by name.
type Secrets []string

func (s Secrets) Check(names []string) error {
	for _, name := range names {
		if !slices.Contains(s, name) {
			return domain.Errorf(domain.CodeUnknownSecret, "There is no such secret; there are %s.", strings.Join(s, ", "))
		}
	}
	return nil
}

// Templates fills in names and nothing else: {{ a.b.c }}, or ${a}. It counts how often it was asked, and is too busy for one tenant.
type Templates struct {
	Asked   atomic.Int64
	Crowded domain.TenantID
}

var (
	braces  = regexp.MustCompile(`\{\{ ([a-zA-Z0-9_.]+) \}\}`)
	dollars = regexp.MustCompile(`\$\{([a-zA-Z0-9_.-]+)\}`)
)

// Render implements admission.Templates.
func (s *Templates) Render(_ context.Context, tenant domain.TenantID, variables json.RawMessage, templates ...template.Template) ([]template.Rendered, error) {
	s.Asked.Add(1)
	if tenant == s.Crowded {
		return nil, domain.Errorf(domain.CodeUnavailable, "Too many templates are being rendered; try again in a moment.")
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(variables, &data); err != nil {
		return nil, err
	}
	var all []template.Rendered
	for _, t := range templates {
		rendered, missing := template.Rendered{}, ""
		names := braces
		if t.Syntax == template.Dollar {
			names = dollars
		}
		rendered.Text = names.ReplaceAllStringFunc(t.Source, func(place string) string {
			path := names.FindStringSubmatch(place)[1]
			rendered.Usage.Paths = append(rendered.Usage.Paths, path)
			value, known := lookUp(data, path)
			if !known {
				missing = path
			}
			return value
		})
		if missing != "" {
			return nil, domain.Invalid(t.Name, "Line 1 of the template: %s is not defined.", missing)
		}
		all = append(all, rendered)
	}
	return all, nil
}

func lookUp(data map[string]json.RawMessage, path string) (string, bool) {
	name, rest, deeper := strings.Cut(path, ".")
	value, known := data[name]
	if deeper {
		var inner map[string]json.RawMessage
		if json.Unmarshal(value, &inner) != nil {
			return "", false
		}
		return lookUp(inner, rest)
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text, known
	}
	return string(value), known
}

// Members of a request for blocks, as JSON.
const (
	Document   = `"document":{"revision":"12","blocks":[{"id":"b1","type":"heading"},{"id":"b2","type":"list","children":[{"id":"b3","props":{"x":1}}]}]}`
	BlockType  = `"blockTypes":[{"type":"script","description":"Runs it.","docs":"# Script","propsSchema":{"type":"object","required":["code"]}}]`
	Generation = `"kind":"inlineBlockGeneration","source":{"type":"internal"}`
)

// GenerationBody is a request for blocks, with further fields.
func GenerationBody(prompt string, more ...string) string {
	return strings.Join(append([]string{`{` + Generation + `,"prompt":"` + prompt + `"`, Document, BlockType}, more...), ",") + "}"
}

// Environments is a catalog with the built-in environments, app and host, of which workspace is the default and machine cannot be built.
func Environments() *environments.Catalog {
	catalog, err := environments.New(environments.Config{
		Data: "/var/lib/signoff",
		Definitions: map[string]environments.Definition{
			"app":  {Mounts: map[string]string{"/srv/app": "write", "/var/log/app": "read"}, Network: []string{"corp"}},
			"host": {Isolation: "none", User: "operator", Allow: []string{"^systemctl status "}},
		},
		Networks: map[string]environments.NetworkDefinition{"corp": {Hosts: []string{"*.corp.example"}, CIDRs: []string{"10.20.0.0/16"}}},
	}, anyMachine{})
	if err != nil {
		panic(err)
	}
	catalog.Limit("/work", func(e domain.Environment, directory string) error {
		if e.Name == "machine" || directory == "/srv/app/foreign" {
			return errors.New("the kernel has no user namespaces")
		}
		return nil
	})
	return catalog
}

// anyMachine has every file, and its users read nothing of the server's.
type anyMachine struct{}

func (anyMachine) Real(path string) (string, error) { return path, nil }
func (anyMachine) Reads(_, _ string) (bool, error)  { return false, nil }

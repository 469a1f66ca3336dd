package admission

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/admission/admissiontest"
	"signoff/internal/domain"
)

const (
	aDocument  = admissiontest.Document
	aBlockType = admissiontest.BlockType
	generation = admissiontest.Generation
)

// aGeneration is a request for blocks, with further fields.
func aGeneration(prompt string, more ...string) string {
	return admissiontest.GenerationBody(prompt, more...)
}

func TestTheKindDecidesWhatIsLeftOut(t *testing.T) {
	a := newAdmission(func(c *Config) {
		c.Settings = Settings{Shell: "zsh", BlockTypes: []domain.BlockType{{Type: "script", Docs: "the server's"}, {Type: "sql"}}}
	})
	for name, row := range map[string]struct {
		body     string
		kind     domain.Kind
		keepOpen bool
		shell    string
		types    []string
	}{
		"an agent":                        {"{" + valid + "}", domain.KindAgent, false, "", nil},
		"an agent that stays open":        {"{" + valid + `,"kind":"agent","keepOpen":true}`, domain.KindAgent, true, "", nil},
		"an agent without a prompt":       {`{"source":{"type":"acp","command":"mock"},"keepOpen":true}`, domain.KindAgent, true, "", nil},
		"one without, and templates":      {`{"source":{"type":"internal"},"keepOpen":true,"systemPrompt":"{{ x }}","variables":{"x":"a"}}`, domain.KindAgent, true, "", nil},
		"one without, and their syntax":   {`{"source":{"type":"acp","command":"mock"},"keepOpen":true,"templateSyntax":"dollar"}`, domain.KindAgent, true, "", nil},
		"an assistant without a prompt":   {`{"source":{"type":"internal"},"kind":"assistant","keepOpen":true,"variables":{"x":1}}`, domain.KindAssistant, true, "zsh", []string{"script", "sql"}},
		"an agent with a document":        {"{" + valid + "," + aDocument + "}", domain.KindAgent, false, "zsh", []string{"script", "sql"}},
		"an assistant":                    {"{" + valid + `,"kind":"assistant"}`, domain.KindAssistant, true, "zsh", []string{"script", "sql"}},
		"an assistant that answers once":  {"{" + valid + `,"kind":"assistant","keepOpen":false}`, domain.KindAssistant, false, "zsh", []string{"script", "sql"}},
		"a generation":                    {aGeneration("say x", `"insertAfter":"b3"`), domain.KindGeneration, true, "zsh", []string{"script", "sql"}},
		"a generation with a shell":       {aGeneration("say x", `"keepOpen":true,"defaultShell":"fish"`), domain.KindGeneration, true, "fish", []string{"script", "sql"}},
		"a generation with known types":   {`{` + generation + `,"prompt":"say x",` + aDocument + `}`, domain.KindGeneration, true, "zsh", []string{"script", "sql"}},
		"blocks without ids can be named": {`{` + generation + `,"prompt":"say x","document":{"blocks":[{"type":"a"}]},"insertAfter":"b9"}`, domain.KindGeneration, true, "zsh", []string{"script", "sql"}},
	} {
		request := a.admitted(t, row.body)
		var types []string
		for _, known := range request.Runbook.BlockTypes {
			types = append(types, known.Type)
		}
		if diff := cmp.Diff(row.types, types); request.Kind != row.kind ||
			request.KeepOpen != row.keepOpen || request.Runbook.DefaultShell != row.shell || diff != "" {
			t.Errorf("%s: %+v %s", name, request.Runbook, diff)
		}
	}
	request := a.admitted(t, aGeneration("say x", `"insertAfter":"b3"`))
	want := domain.Runbook{
		Document:    &domain.Document{Revision: "12", Blocks: []byte(aDocument[len(`"document":{"revision":"12","blocks":`) : len(aDocument)-1])},
		InsertAfter: "b3", DefaultShell: "zsh",
		BlockTypes: []domain.BlockType{
			{Type: "script", Description: "Runs it.", Docs: "# Script", PropsSchema: []byte(`{"type":"object","required":["code"]}`)}, {Type: "sql"},
		},
	}
	if diff := cmp.Diff(want, request.Runbook); diff != "" {
		t.Error(diff)
	}
}

func TestBadKinds(t *testing.T) {
	a := newAdmission()
	const external = `"source":{"type":"acp","command":"mock"},"prompt":"x"`
	const loop = `{"$ref":"https://example.com/schema.json"}`
	for name, row := range map[string][2]string{
		"an external assistant":            {`{` + external + `,"kind":"assistant"}`, "/source/type"},
		"an external agent for blocks":     {`{` + external + `,"kind":"inlineBlockGeneration",` + aDocument + `}`, "/source/type"},
		"a document of an external agent":  {`{` + external + `,` + aDocument + `}`, "/document"},
		"a place of an external agent":     {`{` + external + `,"insertAfter":"b1"}`, "/insertAfter"},
		"types of an external agent":       {`{` + external + `,` + aBlockType + `}`, "/blockTypes"},
		"a shell of an external agent":     {`{` + external + `,"defaultShell":"zsh"}`, "/defaultShell"},
		"tools for an external agent":      {`{` + external + `,"clientTools":[]}`, "/clientTools"},
		"blocks without a document":        {`{` + generation + `,"prompt":"x",` + aBlockType + `}`, "/document"},
		"blocks of no type":                {`{` + generation + `,"prompt":"x",` + aDocument + `}`, "/blockTypes"},
		"blocks that nobody looks at":      {aGeneration("x", `"keepOpen":false`), "/keepOpen"},
		"blocks from messages":             {`{` + generation + `,"messages":[{"role":"user","content":"x"}],` + aDocument + "," + aBlockType + `}`, "/messages"},
		"blocks without a prompt":          {`{` + generation + `,` + aDocument + "," + aBlockType + `}`, "/prompt"},
		"blocks with tools":                {aGeneration("x", `"tools":{"enabled":["bash"]}`), "/tools"},
		"blocks with tools of the client":  {aGeneration("x", `"clientTools":[]`), "/clientTools"},
		"blocks with a schema":             {aGeneration("x", `"outputSchema":{}`), "/outputSchema"},
		"blocks with a context":            {aGeneration("x", `"contextFrom":["`+someID+`"]`), "/contextFrom"},
		"blocks with notes":                {aGeneration("x", `"memory":{"enabled":true}`), "/memory/enabled"},
		"blocks with secrets":              {aGeneration("x", `"secrets":["github"]`), "/secrets"},
		"a place of no document":           {`{` + valid + `,"insertAfter":"b1"}`, "/insertAfter"},
		"a place that is not there":        {aGeneration("x", `"insertAfter":"b9"`), "/insertAfter"},
		"an empty place":                   {aGeneration("x", `"insertAfter":""`), "/insertAfter"},
		"a type twice":                     {`{` + valid + `,"blockTypes":[{"type":"a"},{"type":"a"}]}`, "/blockTypes/1/type"},
		"a type without a name":            {`{` + valid + `,"blockTypes":[{"docs":"x"}]}`, "/blockTypes/0/type"},
		"a type of two words":              {`{` + valid + `,"blockTypes":[{"type":"a b"}]}`, "/blockTypes/0/type"},
		"a type with a schema of nothing":  {`{` + valid + `,"blockTypes":[{"type":"a","propsSchema":{"type":"what"}}]}`, "/blockTypes/0/propsSchema"},
		"a type with a schema from afar":   {`{` + valid + `,"blockTypes":[{"type":"a","propsSchema":` + loop + `}]}`, "/blockTypes/0/propsSchema"},
		"a type with a secret":             {`{` + valid + `,"blockTypes":[{"type":"a","propsSchema":{"const":"` + canary + `"}}]}`, "/blockTypes/0"},
		"an answer with a broken schema":   {`{` + valid + `,"outputSchema":{"type":1}}`, "/outputSchema"},
		"an answer with a schema as text":  {`{` + valid + `,"outputSchema":"object"}`, "/outputSchema"},
		"an answer with a schema of afar":  {`{` + valid + `,"outputSchema":` + loop + `}`, "/outputSchema"},
		"an answer with a secret":          {`{` + valid + `,"outputSchema":{"const":"` + canary + `"}}`, "/outputSchema"},
		"a tool of the server":             {clientTools(`{"name":"bash","description":"x","schema":{"type":"object"}}`), "/clientTools/0/name"},
		"a tool twice":                     {clientTools(aTool, aTool), "/clientTools/1/name"},
		"a tool without a schema":          {clientTools(`{"name":"a","description":"x"}`), "/clientTools/0/schema"},
		"a tool with a broken schema":      {clientTools(`{"name":"a","description":"x","schema":{"type":"object","properties":1}}`), "/clientTools/0/schema"},
		"a tool with arguments in a list":  {clientTools(`{"name":"a","description":"x","schema":{"type":"array"}}`), "/clientTools/0/schema"},
		"a tool with arguments of no type": {clientTools(`{"name":"a","description":"x","schema":{}}`), "/clientTools/0/schema"},
		"a tool with a secret":             {clientTools(`{"name":"a","description":"` + canary + `","schema":{"type":"object"}}`), "/clientTools/0"},
	} {
		_, err := a.admit(t, row[0])
		refuses(t, badInput{name, row[0], domain.CodeInvalid, row[1]}, err)
	}
}

const aTool = `{"name":"insert_blocks","description":"Inserts blocks.","schema":{"type":"object"}}`

// clientTools is a request with tools that the client runs.
func clientTools(tools ...string) string {
	return `{` + valid + `,"clientTools":[` + strings.Join(tools, ",") + `]}`
}

func TestTheGenerationOfBlocksCanBeSwitchedOff(t *testing.T) {
	a := newAdmission(func(c *Config) { c.Settings.BlockGenerationOff = true })
	if _, err := a.admit(t, aGeneration("x")); domain.CodeOf(err) != domain.CodeFeatureDisabled {
		t.Errorf("it was not refused: %v", err)
	}
	a.admitted(t, "{"+valid+`,"kind":"assistant"}`)
}

// TestASchemaThatRefersToItselfIsRefusedWhereItStands: what counts as one is proved in the package schema.
func TestASchemaThatRefersToItselfIsRefusedWhereItStands(t *testing.T) {
	a := newAdmission()
	for pointer, body := range map[string]string{
		"/outputSchema":             `{` + valid + `,"outputSchema":{"$ref":"#"}}`,
		"/clientTools/0/schema":     clientTools(strings.Replace(aTool, `"schema":{`, `"schema":{"$ref":"#",`, 1)),
		"/blockTypes/0/propsSchema": strings.Replace(aGeneration("x"), `"propsSchema":{`, `"propsSchema":{"$ref":"#",`, 1),
	} {
		_, err := a.admit(t, body)
		refuses(t, badInput{pointer, body, domain.CodeInvalid, pointer}, err)
	}
}

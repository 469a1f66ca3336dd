package admission

import (
	"slices"
	"strings"
	"testing"

	"signoff/internal/domain"
)

const blockID = "7f9c24e8-3b12-4a6f-9d0e-5c1b2a3d4e5f"

// aBlock is a request with an agent block with these props.
func aBlock(props string) string {
	return `{"block":{"id":"` + blockID + `","type":"agent","props":{` + props + `}}}`
}

func TestBadBlocks(t *testing.T) {
	a := newAdmission()
	const internal = `"source":{"type":"internal"}`
	fine := aBlock(internal + `,"prompt":"say x"`)
	beside := func(field string) string { return strings.Replace(fine, "{", "{"+field+",", 1) }
	rows := []badInput{
		{"unknown agent", aBlock(`"source":{"type":"acp","command":"rm"},"prompt":"x"`), domain.CodeUnknownAgent, "/block/props/source/command"},
		{"an agent that is not installed", aBlock(`"source":{"type":"acp","command":"absent"},"prompt":"x"`), domain.CodeAgentUnavailable, "/block/props/source/command"},
		{"arguments that ask nobody", aBlock(`"source":{"type":"acp","command":"mock","args":["--yolo"]},"prompt":"x"`), domain.CodeUnknownAgent, "/block/props/source/args"},
		{"unknown model", aBlock(`"source":{"type":"internal","model":"gpt-9"},"prompt":"x"`), domain.CodeUnknownModel, "/block/props/source/model"},
	}
	for name, row := range map[string][2]string{
		"no id":                           {`{"block":{"type":"agent","props":{` + internal + `,"prompt":"x"}}}`, "/block/id"},
		"an id that is none":              {strings.Replace(fine, blockID, "b1", 1), "/block/id"},
		"no command":                      {aBlock(`"source":{"type":"acp"},"prompt":"x"`), "/block/props/source/command"},
		"a command of the internal agent": {aBlock(`"source":{"type":"internal","command":"mock"},"prompt":"x"`), "/block/props/source/command"},
		"an environment":                  {aBlock(`"source":{"type":"acp","command":"mock","env":{"A":"b"}},"prompt":"x"`), "/block/props/source/env"},
		"no prompt":                       {aBlock(internal), "/block/props/prompt"},
		"a blank prompt":                  {aBlock(internal + `,"prompt":" "`), "/block/props/prompt"},
		"a provider of an external agent": {aBlock(`"source":{"type":"acp","command":"mock","provider":"openai"},"prompt":"x"`), "/block/props/source/provider"},
		"a capability twice":              {aBlock(internal + `,"prompt":"x","capabilities":{"readFiles":true,"read":"ask"}`), "/block/props/capabilities/readFiles"},
		"a directory outside":             {aBlock(internal + `,"prompt":"x","workingDirectory":"../.."`), "/block/props/workingDirectory"},
		"beside a source":                 {beside(internal), "/source"},
		"beside a prompt":                 {beside(`"prompt":"x"`), "/prompt"},
		"beside messages":                 {beside(`"messages":[{"role":"user","content":"x"}]`), "/messages"},
		"beside a system prompt":          {beside(`"systemPrompt":"x"`), "/systemPrompt"},
		"beside capabilities":             {beside(`"capabilities":{}`), "/capabilities"},
		"beside a timeout":                {beside(`"timeoutSeconds":1`), "/timeoutSeconds"},
		"beside a directory":              {beside(`"workingDirectory":"."`), "/workingDirectory"},
		"a setting that the model lacks":  {aBlock(`"source":{"type":"internal","model":"dear","settings":{"effort":"max"}},"prompt":"x"`), "/block/props/source/settings/effort"},
		"as an assistant":                 {beside(`"kind":"assistant"`), "/kind"},
		"with an unknown model to fall back to, in its own place": {beside(`"budget":{"cost":1}`), "/budget/cost"},
	} {
		rows = append(rows, badInput{name, row[0], domain.CodeInvalid, row[1]})
	}
	for _, row := range rows {
		_, err := a.admit(t, row.body)
		refuses(t, row, err)
	}
}

// TestWhatIsLeftOutOfARequest: the request keeps what it does not use, so that each answer about the execution lists it.
func TestWhatIsLeftOutOfARequest(t *testing.T) {
	a := newAdmission()
	const block = `"block":{"id":"` + blockID + `","type":"agent","children":[{"id":"x"}],"content":null,"props":{"textAlignment":"left","textColor":"default","backgroundColor":"red",
		"source":{"type":"internal"},"prompt":"say x"}}`
	for body, want := range map[string]string{
		`{` + block + `}`: "/block/children /block/content /block/props/textAlignment /block/props/textColor /block/props/backgroundColor",
		`{"source":{"type":"internal"},"prompt":"x","tools":{"enabled":["think","crystal_ball","bash"]}}`: "/tools/enabled/1",
		`{` + block + `,"tools":{"enabled":["crystal_ball"]}}`:                                            "/block/children /block/content /block/props/textAlignment /block/props/textColor /block/props/backgroundColor /tools/enabled/0",
		`{"source":{"type":"internal"},"prompt":"x"}`:                                                     "",
	} {
		request := a.admitted(t, body)
		var at []string
		for _, warning := range request.Warnings {
			at = append(at, warning.Pointer)
		}
		if got := strings.Join(at, " "); got != want || slices.Contains(request.Tools.Enabled, "crystal_ball") {
			t.Errorf("%s: %s, tools %v", body, got, request.Tools.Enabled)
		}
	}
}

// TestABlockThatSaysNothing is started by what the request says in its place.
func TestABlockThatSaysNothing(t *testing.T) {
	a := newAdmission()
	for _, props := range []string{`"source":{"type":"internal"}`, `"source":{"type":"internal"},"prompt":" "`} {
		block := strings.TrimSuffix(aBlock(props), "}")
		if request := a.admitted(t, block+`,"messages":[{"role":"user","content":"say {{ x }}"}],"variables":{"x":"y"}}`); request.Messages[0].Content != "say y" || request.Block.ID != blockID {
			t.Errorf("%+v", request)
		}
		if request := a.admitted(t, block+`,"prompt":[{"type":"text","text":"say x"}]}`); request.Prompt != "say x" {
			t.Errorf("%+v", request)
		}
		_, err := a.admit(t, block+`,"prompt":[{"type":"text","text":"{{ x }}"}],"variables":{"x":" "}}`)
		refuses(t, badInput{"blank after it was rendered", props, domain.CodeInvalid, "/prompt"}, err)
	}
}

// TestAModelByItsProvider: a document knows the provider's name of a model, and not the operator's.
func TestAModelByItsProvider(t *testing.T) {
	a := newAdmission()
	name := a.config.Models.Names()[0]
	_, vendors := a.config.Models.Entry(name)
	for _, model := range []string{`"` + name + `"`, `"` + vendors + `"`, "null"} { // null: the provider's only one
		if request := a.admitted(t, aBlock(`"source":{"type":"internal","provider":"OpenAI","model":`+model+`},"prompt":"x"`)); request.Source.Model != name || request.Model.From != domain.ModelFromBlock {
			t.Errorf("%s: %+v, %+v", model, request.Source, request.Model)
		}
	}
	for _, source := range []string{`"provider":"anthropic","model":"` + name + `"`, `"provider":"openai","model":"gpt-9"`, `"provider":"Claude"`} {
		_, err := a.admit(t, aBlock(`"source":{"type":"internal",`+source+`},"prompt":"x"`))
		refuses(t, badInput{source, source, domain.CodeUnknownModel, "/block/props/source/model"}, err)
		if !strings.Contains(err.Error(), "openai "+vendors) {
			t.Errorf("%s: %v does not name the models", source, err)
		}
	}
}

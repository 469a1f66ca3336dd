package admission

import (
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

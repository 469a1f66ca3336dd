package items

import (
	"encoding/json"
	"strings"

	"signoff/internal/domain"
)

// report is the report of an external agent about its call. An absent member is unchanged, and an unreadable one is ignored.
// https://agentclientprotocol.com/protocol/tool-calls#updating
type report map[string]json.RawMessage

// reported applies a report. A call that a person was asked about keeps the description that the person saw: an agent must not change it
// afterwards.
func (r *Reducer) reported(p domain.ToolCallReported) {
	var reported report
	if json.Unmarshal(p.Update, &reported) != nil {
		return
	}
	c := r.call(p.ToolCallID)
	if len(c.Tool.Approvals) == 0 {
		reported.describe(c.Tool)
	}
	texts, diffs := reported.content()
	if c.outcome == "" && len(texts) > 0 {
		c.Tool.Output, c.Tool.Truncated = bounded(strings.Join(texts, "\n"), TextBytes)
	}
	r.touch(c.item)
	if len(diffs) > 0 {
		r.describe(c, diffs)
	}
}

// summaryBytes bounds a title.
const summaryBytes = 1000

func (t report) describe(tool *Tool) {
	var title string
	if json.Unmarshal(t["title"], &title) == nil && title != "" {
		tool.Summary, _ = bounded(title, summaryBytes)
	}
	var input map[string]json.RawMessage
	if json.Unmarshal(t["rawInput"], &input) == nil && input != nil {
		tool.Arguments = boundedJSON(t["rawInput"])
	}
}

// content reads the texts and the diffs of a report.
func (t report) content() (texts []string, diffs []fileDiff) {
	var entries []json.RawMessage
	_ = json.Unmarshal(t["content"], &entries) // anything but a list has no entries
	for _, entry := range entries {
		var shown struct {
			Type    string
			Content struct{ Text string }
			Path    string
			OldText *string
			NewText string
		}
		switch {
		case json.Unmarshal(entry, &shown) != nil:
		case shown.Type == "diff" && shown.Path != "" && len(diffs) < maxChanges:
			diffs = append(diffs, newFileDiff(shown.Path, shown.OldText, shown.NewText))
		case shown.Content.Text != "":
			texts = append(texts, shown.Content.Text)
		}
	}
	return texts, diffs
}

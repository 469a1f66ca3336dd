package items

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"signoff/internal/domain"
)

// changesAskedFor reads the changes of one of our calls from its arguments. Tools of external agents may have the same names and other
// arguments; their changes are in their reports.
func (r *Reducer) changesAskedFor(c *call) {
	if (r.external && c.Tool.Tool != writeTextFile) || c.Tool.Class != domain.ClassWrite {
		return
	}
	read, known := argumentReaders[c.Tool.Tool]
	if !known {
		return
	}
	sum := sha256.Sum256(c.Tool.Arguments)
	if arguments := digest(base64.RawStdEncoding.EncodeToString(sum[:])); arguments != c.described {
		c.described = arguments
		r.describe(c, read(c.Tool.Arguments))
	}
}

// writeTextFile is the name of an external agent's request to write a file.
const writeTextFile = "writeTextFile"

// argumentReaders know the arguments of the tools that change files.
var argumentReaders = map[string]func(json.RawMessage) []fileDiff{
	"write": written, writeTextFile: written, "edit": edited, "patch": patched,
}

func written(arguments json.RawMessage) []fileDiff {
	var wanted struct{ Path, Content string }
	if json.Unmarshal(arguments, &wanted) != nil || wanted.Path == "" {
		return nil
	}
	return []fileDiff{newFileDiff(wanted.Path, nil, wanted.Content)}
}

func edited(arguments json.RawMessage) []fileDiff {
	var wanted struct{ Path, OldText, NewText string }
	if json.Unmarshal(arguments, &wanted) != nil || wanted.Path == "" {
		return nil
	}
	return []fileDiff{newFileDiff(wanted.Path, &wanted.OldText, wanted.NewText)}
}

func patched(arguments json.RawMessage) []fileDiff {
	var wanted struct{ Patch string }
	if json.Unmarshal(arguments, &wanted) != nil {
		return nil
	}
	return splitPatch(wanted.Patch)
}

// describe brings the diffs of a call up to date.
func (r *Reducer) describe(c *call, diffs []fileDiff) {
	for _, known := range c.changes {
		known.current = false
	}
	places := map[string]int{}
	for _, diff := range diffs[:min(len(diffs), maxChanges)] {
		places[diff.path]++
		if known := r.change(c, changeKey{diff.path, places[diff.path]}); known != nil {
			known.current = true
			r.show(known, diff)
		}
	}
	r.changesSettle(c)
}

// change finds a diff of a call, or begins one; nil: there are too many.
func (r *Reducer) change(c *call, key changeKey) *change {
	at := slices.IndexFunc(c.changes, func(known *change) bool { return known.key == key })
	switch {
	case at >= 0:
		return c.changes[at]
	case len(c.changes) == maxChanges:
		return nil
	}
	begun := &change{key: key, item: r.add(Item{
		ID: fmt.Sprintf("diff:%s:%d", c.Tool.ToolCallID, len(c.changes)+1), Kind: KindDiff, Turn: c.Turn, Status: StatusOpen,
		Diff: &Diff{ToolCallID: c.Tool.ToolCallID, Path: key.path, Status: DiffProposed},
	})}
	c.changes = append(c.changes, begun)
	return begun
}

func (r *Reducer) show(known *change, diff fileDiff) {
	text, cut := bounded(diff.text, TextBytes)
	if text == known.Diff.Diff && diff.additions == known.Diff.Additions && diff.deletions == known.Diff.Deletions {
		return
	}
	known.Diff.Diff, known.Diff.Truncated = text, cut
	known.Diff.Additions, known.Diff.Deletions = diff.additions, diff.deletions
	r.touch(known.item)
}

// changesSettle sets the status of each change of a call.
func (r *Reducer) changesSettle(c *call) {
	for _, known := range c.changes {
		if status := known.outcome(c.outcome); status != known.Diff.Status {
			known.Diff.Status, known.Status = status, StatusComplete
			if status == DiffProposed {
				known.Status = StatusOpen
			}
			r.touch(known.item)
		}
	}
}

func (c *change) outcome(outcome domain.Outcome) DiffStatus {
	switch {
	case !c.current:
		return DiffFailed
	case outcome == "":
		return DiffProposed
	case outcome == domain.OutcomeSucceeded:
		return DiffApplied
	case outcome == domain.OutcomeUnknown:
		return DiffOutcomeUnknown
	default:
		return DiffFailed
	}
}

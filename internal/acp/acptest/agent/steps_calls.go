package main

var callSteps = []verb{
	{"call", "ID [kind=KIND] [title=TITLE] [status=STATUS] [input=JSON] [at=PATH]", announce},
	{"update", "ID STATUS [TEXT]", updateCall},
	{"diff", "ID PATH OLD NEW", diff},
}

// about puts what a step says of a call into an update or a question. What it does not say is not there.
func (a args) about(update object) (object, error) {
	for name, field := range map[string]string{"kind": "kind", "title": "title", "status": "status"} {
		if value, given := a.named[name]; given {
			update[field] = value
		}
	}
	if path, given := a.named["at"]; given {
		update["locations"] = []object{{"path": path}}
	}
	if text, given := a.named["content"]; given {
		update["content"] = textContent(text)
	}
	if input, given := a.named["input"]; given {
		raw, err := asJSON(input)
		if err != nil {
			return nil, err
		}
		update["rawInput"] = raw
	}
	return update, nil
}

func announce(t *turn, a args) error {
	id := a.words[0]
	update, err := a.about(object{
		"sessionUpdate": "tool_call", "toolCallId": id, "title": id, "kind": "other", "status": "pending",
	})
	if err != nil {
		return err
	}
	return t.update(update)
}

func updateCall(t *turn, a args) error {
	update := object{"sessionUpdate": "tool_call_update", "toolCallId": a.words[0], "status": a.words[1]}
	if a.text != "" {
		update["content"] = textContent(a.text)
	}
	return t.update(update)
}

func diff(t *turn, a args) error {
	return t.update(object{
		"sessionUpdate": "tool_call_update", "toolCallId": a.words[0],
		"content": []object{{"type": "diff", "path": a.words[1], "oldText": a.words[2], "newText": a.words[3]}},
	})
}

func textContent(text string) []object {
	return []object{{"type": "content", "content": object{"type": "text", "text": text}}}
}

// mark gives a call its outcome.
func (t *turn) mark(id, status string) error {
	return t.update(object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status})
}

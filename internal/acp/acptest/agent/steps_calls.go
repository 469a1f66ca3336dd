package main

var callSteps = []verb{
	{"call", "ID [kind=KIND] [title=TITLE] [status=STATUS] [input=JSON] [at=PATH]",
		"announce a tool call; pending, if no status is given", announce},
	{"update", "ID STATUS [TEXT]", "the call's new status, with text as its content", updateCall},
	{"diff", "ID PATH OLD NEW", "give the call a diff as its content", diff},
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
	update, err := a.about(object{"sessionUpdate": "tool_call", "toolCallId": id, "title": id, "kind": "other", "status": "pending"})
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

// mark gives a call its fate.
func (t *turn) mark(id, status string) error {
	return t.update(object{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status})
}

var stateSteps = []verb{
	{"plan", "[ENTRY...]", "the whole plan; an entry is `content`, or `content:status`", plan},
	{"commands", "[NAME...]", "the commands that are available", commands},
	{"mode", "ID", "the agent has changed its mode", func(t *turn, a args) error {
		if t.session != nil {
			t.session.set("mode", a.words[0])
		}
		return t.update(object{"sessionUpdate": "current_mode_update", "currentModeId": a.words[0]})
	}},
	{"config", "ID VALUE", "the agent has changed an option: sends the full list", config},
	{"info", "TITLE", "the session has a title", func(t *turn, a args) error {
		return t.update(object{"sessionUpdate": "session_info_update", "title": a.words[0]})
	}},
	{"usage", "USED SIZE [COST]", "how full the context is, and what it cost so far in USD", usage},
	{"raw", "JSON", "an update, word for word", func(t *turn, a args) error {
		update, err := a.json(0, "")
		if err != nil {
			return err
		}
		return t.update(update)
	}},
}

func plan(t *turn, a args) error {
	entries := []object{}
	for _, word := range a.words {
		content, status := cutLast(word, ":", "pending")
		entries = append(entries, object{"content": content, "priority": "medium", "status": status})
	}
	return t.update(object{"sessionUpdate": "plan", "entries": entries})
}

func commands(t *turn, a args) error {
	list := []object{}
	for _, name := range a.words {
		list = append(list, object{"name": name, "description": "Does " + name})
	}
	return t.update(object{"sessionUpdate": "available_commands_update", "availableCommands": list})
}

func config(t *turn, a args) error {
	if t.session != nil {
		t.session.set(a.words[0], asValue(a.words[1]))
	}
	return t.update(object{"sessionUpdate": "config_option_update", "configOptions": t.configOptions()})
}

func usage(t *turn, a args) error {
	used, err := a.number(0, 0)
	if err != nil {
		return err
	}
	size, err := a.number(1, 0)
	if err != nil {
		return err
	}
	update := object{"sessionUpdate": "usage_update", "used": used, "size": size}
	if len(a.words) > 2 {
		cost, err := a.json(2, "")
		if err != nil {
			return err
		}
		update["cost"] = object{"amount": cost, "currency": "USD"}
	}
	return t.update(update)
}

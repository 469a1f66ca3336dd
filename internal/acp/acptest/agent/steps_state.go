package main

import "strings"

var stateSteps = []verb{
	{"plan", "[ENTRY...]", plan},
	{"commands", "[NAME...]", commands},
	{"mode", "ID", func(t *turn, a args) error {
		if t.session != nil {
			t.session.set("mode", a.words[0])
		}
		return t.update(object{"sessionUpdate": "current_mode_update", "currentModeId": a.words[0]})
	}},
	{"config", "ID VALUE", config},
	{"info", "TITLE", func(t *turn, a args) error {
		return t.update(object{"sessionUpdate": "session_info_update", "title": a.words[0]})
	}},
	{"usage", "USED SIZE [COST]", usage},
	{"raw", "JSON", func(t *turn, a args) error {
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

// cutLast cuts at the last separator.
func cutLast(s, separator, instead string) (before, after string) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):]
	}
	return s, instead
}

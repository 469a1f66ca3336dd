package main

import (
	"fmt"
	"strings"
	"time"
)

var talkSteps = []verb{
	{"say", "TEXT", func(t *turn, a args) error { return t.say(a.text) }},
	{"think", "TEXT", func(t *turn, a args) error {
		return t.chunk("agent_thought_chunk", a.text)
	}},
	{"message", "[ID]", func(t *turn, a args) error {
		t.messageID = a.word(0, "")
		return nil
	}},
	{"burst", "N [SIZE]", burst},
	{"pace", "MS", func(t *turn, a args) error {
		ms, err := a.number(0, 0)
		t.pace = time.Duration(ms) * time.Millisecond
		return err
	}},
	{"silence", "MS", func(t *turn, a args) error {
		ms, err := a.number(0, 0)
		t.sleep(time.Duration(ms) * time.Millisecond)
		return err
	}},
}

func burst(t *turn, a args) error {
	n, err := a.number(0, 0)
	if err != nil {
		return err
	}
	size, err := a.number(1, 0)
	if err != nil {
		return err
	}
	for i := 0; i < n && t.ctx.Err() == nil; i++ {
		text := fmt.Sprintf("%d ", i)
		text = strings.Repeat(".", max(0, size-len(text))) + text
		if err := t.say(text); err != nil {
			return err
		}
	}
	return nil
}

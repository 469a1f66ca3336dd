package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

var flowSteps = []verb{
	{"late", "MS STEP", late},
	{"await", "PATH", await},
	{"once", "PATH STEP", once},
}

func late(t *turn, a args) error {
	ms, err := a.number(0, 0)
	if err != nil {
		return err
	}
	t.late = append(t.late, lateStep{time.Duration(ms) * time.Millisecond, func() {
		after := t.agent.newTurn("late", message{})
		after.session = t.session
		if err := a.step.run(after); err != nil {
			fmt.Fprintln(os.Stderr, "late:", err)
		}
	}})
	return nil
}

// await looks for the file again and again: whoever makes it may be any program.
func await(t *turn, a args) error {
	for t.ctx.Err() == nil {
		_, err := os.Stat(filepath.Join(t.cwd(), a.words[0])) //nolint:gosec // the test says where
		if !errors.Is(err, os.ErrNotExist) {
			return err
		}
		t.sleep(10 * time.Millisecond)
	}
	return nil
}

func once(t *turn, a args) error {
	file, err := os.OpenFile(a.words[0], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return a.step.run(t)
}

var endSteps = []verb{
	{"stop", "REASON", func(t *turn, a args) error {
		t.reason = a.words[0]
		return errEnded
	}},
	{"fail", "CODE MESSAGE [JSON]", fail},
	{"result", "JSON", func(t *turn, a args) error {
		var fields object
		if err := json.Unmarshal([]byte(a.words[0]), &fields); err != nil {
			return err
		}
		merge(t.result, fields)
		return nil
	}},
}

func fail(_ *turn, a args) error {
	f := &failure{Message: a.words[1]}
	if err := json.Unmarshal([]byte(a.words[0]), &f.Code); err != nil {
		return err
	}
	if len(a.words) > 2 {
		data, err := a.json(2, "")
		if err != nil {
			return err
		}
		f.Data = data
	}
	return f
}

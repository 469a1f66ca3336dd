package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

var faultSteps = []verb{
	{"crash", "[CODE]", crash},
	{"hang", "", hang},
	{"deafen", "", func(t *turn, _ args) error {
		t.agent.deaf.Store(true)
		return nil
	}},
	{"ignoreeof", "", func(t *turn, _ args) error {
		t.agent.ignoreEOF.Store(true)
		return nil
	}},
	{"ignoreterm", "", func(*turn, args) error {
		ignoreTerm()
		return nil
	}},
	{"oncancel", "MANNERS", onCancel},
	{"noanswer", "", func(t *turn, _ args) error {
		t.silent = true
		return errEnded
	}},
	{"answerexit", "[CODE]", answerExit},
	{"as", "[ID]", func(t *turn, a args) error {
		t.as = a.word(0, "")
		return nil
	}},
	{"rawline", "TEXT", func(t *turn, a args) error {
		t.agent.wire.write([]byte(a.text))
		return nil
	}},
	{"flood", "BYTES [LINE]", floodStdout},
	{"stderrflood", "BYTES [LINE]", floodStderr},
	{"longline", "MB [as=AS]", longLine},
	{"orphan", "PATH [SECONDS]", orphan},
}

func crash(_ *turn, a args) error {
	code, err := a.number(0, 1)
	if err != nil {
		return err
	}
	os.Exit(code)
	return nil
}

// hang keeps the wire's lock, so that no other turn speaks either.
func hang(t *turn, _ args) error {
	t.agent.deaf.Store(true)
	t.agent.ignoreEOF.Store(true)
	ignoreTerm()
	t.agent.wire.line.Lock()
	fmt.Fprintln(os.Stderr, "hanging")
	forever()
	return nil
}

func answerExit(t *turn, a args) error {
	code, err := a.number(0, 0)
	if err != nil {
		return err
	}
	t.exits, t.exitCode = true, code
	return errEnded
}

func floodStdout(t *turn, a args) error {
	return flood(a, func(line []byte) error {
		t.agent.wire.write(line)
		return nil
	})
}

func floodStderr(_ *turn, a args) error {
	return flood(a, func(line []byte) error {
		_, err := os.Stderr.Write(append(line, '\n'))
		return err
	})
}

func ignoreTerm() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP) }

func onCancel(t *turn, a args) error {
	switch a.words[0] {
	case "good", "ignore", "error", "endturn", "needanswer", "withdraw":
		t.manners.Store(a.words[0])
		return nil
	}
	return fmt.Errorf("unknown manners %q", a.words[0])
}

// flood writes in lines, and never holds more than one of them.
func flood(a args, write func(line []byte) error) error {
	total, err := a.number(0, 0)
	if err != nil {
		return err
	}
	length, err := a.number(1, 1024)
	if err != nil {
		return err
	}
	if length == 0 {
		length = total
	}
	for total > 0 {
		n := min(total, length)
		if err := write([]byte(strings.Repeat("x", max(0, n-1)))); err != nil {
			return err
		}
		total -= n
	}
	return nil
}

func longLine(t *turn, a args) error {
	megabytes, err := a.number(0, 0)
	if err != nil {
		return err
	}
	filler := strings.Repeat("y", megabytes<<20)
	switch a.named["as"] {
	case "", "notification":
		return t.say(filler)
	case "response":
		merge(t.result, object{"_meta": object{"filler": filler}})
		return nil
	case "request":
		result, err := t.request("_filler", object{"filler": filler})
		return t.outcome("_filler", string(result), err)
	}
	return fmt.Errorf("unknown kind %q", a.named["as"])
}

// orphan starts what a process group does not hold and the end of our pipes does not show.
func orphan(_ *turn, a args) error {
	seconds, err := a.number(1, 60)
	if err != nil {
		return err
	}
	sleep := exec.Command("sleep", strconv.Itoa(seconds))
	sleep.Stdin, sleep.Stdout, sleep.Stderr = os.Stdin, os.Stdout, os.Stderr
	sleep.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := sleep.Start(); err != nil {
		return err
	}
	go func() { _ = sleep.Wait() }() // or it would stay behind as a zombie
	return os.WriteFile(a.words[0], []byte(strconv.Itoa(sleep.Process.Pid)), 0o600)
}

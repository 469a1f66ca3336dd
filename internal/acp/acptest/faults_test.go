package acptest_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestCrash(t *testing.T) {
	for step, code := range map[string]int{"crash": 1, "crash 0": 0, "crash 42": 42} {
		a := opened(t)
		a.prompt("say last words", step)
		want(t, "words", updateOf(t, a.receive()).text(), "last words")
		want(t, step, a.ended(), code)
	}
}

func TestAnAnswerAndTheEnd(t *testing.T) {
	a := opened(t)
	want(t, "stop", a.play(nil, "say Bye", "answerexit 3").stop, "end_turn")
	want(t, "exit code", a.ended(), 3)
}

func TestTheWrongNumberOfAnswers(t *testing.T) {
	a := opened(t)
	a.prompt("noanswer")
	want(t, "next turn", a.play(nil, "say next").said, "next")
	id := a.prompt("result {\"_meta\":{\"n\":1}}", "answertwice")
	want(t, "second answer", a.answer(id).line, a.answer(id).line)
}

func TestNoise(t *testing.T) {
	a := opened(t)
	id := a.prompt(`rawline {"jsonrpc":"2.0",`, "flood 2500", "flood 3000 0", "stderrflood 5000")
	for _, length := range []int{17, 1023, 1023, 451, 2999} {
		want(t, "length of a line", len(a.receive().line), length)
	}
	a.answer(id)
	eventually(t, "all on stderr", func() bool { return len(a.stderr.String()) == 5000 })
}

func TestLongLines(t *testing.T) {
	a := opened(t)
	turn := a.play(nil, "longline 2")
	want(t, "notification", len(turn.said), 2<<20)
	if size := len(a.play(nil, "longline 2 as=response").answer.line); size < 2<<20 {
		t.Errorf("response of %d bytes", size)
	}
	turn = a.play(replies{"_filler": `"error":{"code":-32601,"message":"What?"}`}, "longline 2 as=request")
	want(t, "said", turn.said, "_filler=error -32601 What?\n")
	if size := len(turn.requests[0].line); size < 2<<20 {
		t.Errorf("request of %d bytes", size)
	}
}

func TestUpdatesOfAnotherSession(t *testing.T) {
	a := opened(t)
	turn := a.play(replies{permission: cancelled}, "as ses_other", "say wrong", "ask c1 mark=no", "as", "say right")
	want(t, "wrong", turn.updates[0].SessionID, "ses_other")
	holds(t, string(turn.requests[0].Params), `"sessionId":"ses_other"`)
	want(t, "right", turn.updates[len(turn.updates)-1].SessionID, a.session)
}

func TestUpdatesAfterTheAnswer(t *testing.T) {
	a := opened(t)
	want(t, "said", a.play(nil, "late 50 say second", "late 0 say first").said, "")
	want(t, "first", updateOf(t, a.receive()).text(), "first")
	want(t, "second", updateOf(t, a.receive()).text(), "second")
}

func TestStubbornness(t *testing.T) {
	t.Run("by default there is none", func(t *testing.T) {
		a := opened(t)
		_ = a.stdin.Close()
		want(t, "exit code", a.ended(), 0)
		a = opened(t)
		must(t, a.process.Process.Signal(syscall.SIGTERM))
		want(t, "exit code", a.ended(), -1)
	})
	t.Run("ignoreeof", func(t *testing.T) {
		a := opened(t)
		a.play(nil, "ignoreeof")
		_ = a.stdin.Close()
		a.lives()
	})
	t.Run("ignoreterm", func(t *testing.T) {
		a := opened(t)
		a.play(nil, "ignoreterm")
		must(t, a.process.Process.Signal(syscall.SIGTERM))
		a.lives()
		want(t, "still there", a.play(nil, "say here").said, "here")
	})
	t.Run("hang", func(t *testing.T) {
		a := opened(t)
		a.play(nil, "late 0 await hung", "late 0 say never") // after a time alone it may speak before it hangs
		a.prompt("say now", "hang")
		want(t, "before", updateOf(t, a.receive()).text(), "now")
		eventually(t, "it hangs", func() bool { return a.stderr.String() == "hanging\n" })
		a.notify("session/cancel", a.here(""))
		_ = a.stdin.Close()
		must(t, a.process.Process.Signal(syscall.SIGTERM))
		a.lives()
		must(t, os.WriteFile(filepath.Join(a.process.Dir, "hung"), nil, 0o600))
		a.silent()
		a.silent()
	})
	t.Run("deafen", func(t *testing.T) {
		a := opened(t)
		a.play(nil, "deafen", "late 0 say ready")
		a.receive()
		must(t, a.stdin.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
		if _, err := a.stdin.WriteString(strings.Repeat(strings.Repeat("x", 1023)+"\n", 1024)); err == nil {
			t.Error("a deaf agent took a megabyte")
		}
		a.lives()
	})
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestAnOrphanHoldsThePipes(t *testing.T) {
	a := opened(t)
	file := filepath.Join(t.TempDir(), "pid")
	a.play(nil, "orphan "+file, "answerexit")
	content, err := os.ReadFile(file)
	must(t, err)
	pid, err := strconv.Atoi(string(content))
	must(t, err)
	defer syscall.Kill(pid, syscall.SIGKILL)
	a.ended()
	a.silent() // and open
	if !alive(pid) {
		t.Error("the orphan has ended with its parent")
	}
	session, err := unix.Getsid(pid)
	must(t, err)
	want(t, "session of the orphan", session, pid)
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	if _, open := a.receiveOrEnd(); open {
		t.Error("the orphan spoke")
	}
}

func TestReexec(t *testing.T) {
	for _, manner := range []string{"stay", "leave"} {
		t.Run(manner, func(t *testing.T) {
			a := start(t, "-reexec", manner)
			a.result("initialize", hello)
			a.open()
			var who struct{ PID int }
			decode(t, a.play(nil, "whoami").said, &who)
			if who.PID == a.process.Process.Pid {
				t.Fatal("there is no child")
			}
			if manner == "stay" {
				must(t, a.process.Process.Kill())
			}
			a.ended()
			want(t, "without its parent", a.play(nil, "say I live").said, "I live")
			_ = a.stdin.Close()
			if _, open := a.receiveOrEnd(); open {
				t.Error("the child goes on")
			}
		})
	}
	t.Run("the exit code", func(t *testing.T) {
		want(t, "exit code", start(t, "-reexec", "stay", "-script", "start: crash 7").ended(), 7)
	})
}

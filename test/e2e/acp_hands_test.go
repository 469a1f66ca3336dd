package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"signoff/internal/domain"
)

func (v *visit) path(name string) string { return filepath.Join(v.folder, name) }

func (v *visit) content(name string) string {
	v.t.Helper()
	content, err := os.ReadFile(v.path(name))
	must(v.t, err)
	return string(content)
}

var handScenes = scenes{
	"not offered": {"scripted", func(v *visit) {
		_, log := v.complete("whoami", "read "+v.path("note.txt"), "write "+v.path("x.txt")+" x", "terminal ls",
			"request terminal/output {}",
			"request fs/delete {}")
		who := whoamis(v.t, log)[0].ClientCapabilities
		if who.FS.ReadTextFile || who.FS.WriteTextFile || who.Terminal {
			v.t.Errorf("offered: %+v", who)
		}
		for _, line := range []string{"read=error -32601", "write=error -32601", "terminal=error -32601",
			"terminal/output=error -32601", "fs/delete=error -32601"} {
			if !strings.Contains(text(v.t, log), line) {
				v.t.Errorf("the agent was not told %q: %s", line, text(v.t, log))
			}
		}
	}},
	"denied by the capabilities": {"handy", func(v *visit) {
		id := v.startAs(object{"capabilities": object{"write": "deny", "execute": "deny"}}, "whoami",
			"write "+v.path("x.txt")+" x", "terminal ls",
			"read "+v.path("none.txt"))
		log := v.told(id, "write=error -32601")
		who := whoamis(v.t, log)[0].ClientCapabilities
		if !who.FS.ReadTextFile || who.FS.WriteTextFile || who.Terminal {
			v.t.Errorf("offered: %+v", who)
		}
		if said := text(v.t, log); !strings.Contains(said, "terminal=error -32601") ||
			!strings.Contains(said, "read=error -32002") {
			v.t.Errorf("the agent was told %q", said)
		}
	}},
	"read": {"handy", func(v *visit) {
		must(v.t, os.WriteFile(v.path("note.txt"), []byte("a note\n"), 0o600))
		_, log := v.complete("read "+v.path("note.txt"), "read "+filepath.Join(v.house.home, "signoff.yaml"),
			"read "+v.path("../../data/token"))
		said := text(v.t, log)
		if !strings.Contains(said, "read=a note\n") || strings.Count(said, "read=error -32602") != 2 ||
			strings.Contains(said, v.Token) {
			v.t.Errorf("the agent was told %q", said)
		}
		if started := of[domain.ToolCallStarted](v.t, log); len(started) == 0 || started[0].AllowedBy != "capability" {
			v.t.Errorf("started: %+v", started)
		}
	}},
	"read after a question": {"handy", func(v *visit) {
		must(v.t, os.WriteFile(v.path("note.txt"), []byte("a note\n"), 0o600))
		id := v.startAs(object{"capabilities": object{"read": "ask"}}, "read "+v.path("note.txt"), "read "+v.path("note.txt"))
		a := v.asked(id, 1)[0]
		if a.Kind != "toolCall" || a.Options != nil || !strings.Contains(string(a.Arguments), "note.txt") {
			v.t.Errorf("asked: %+v", a)
		}
		v.decide(a, object{"remember": "execution"})
		log := v.told(id, "read=a note\n\nread=a note\n")
		if started := of[domain.ToolCallStarted](v.t, log); len(started) != 2 || started[1].AllowedBy != "rule" {
			v.t.Errorf("started: %+v", started)
		}
	}},
	"write": {"handy", func(v *visit) {
		id, a := v.one("write "+v.path("made.txt")+" from the agent", "write "+v.path("empty.txt"),
			"write "+v.path("never.txt")+" x")
		if a.Kind != "toolCall" || !strings.Contains(string(a.Arguments), "from the agent") {
			v.t.Errorf("asked: %+v", a)
		}
		if _, err := os.Stat(v.path("made.txt")); err == nil {
			v.t.Error("it was written before anybody decided")
		}
		v.decide(a)
		for _, answer := range []string{"approve", "deny"} {
			v.eventually("the next question", func() bool {
				pending := v.get(id).PendingApprovals
				if len(pending) == 0 || pending[0].ID == a.ID {
					return false
				}
				a = want[approval](v.client, http.StatusOK, "GET", "/approvals/"+pending[0].ID, nil)
				return true
			})
			v.decide(a, object{"decision": answer})
		}
		log := v.told(id, "write=ok\nwrite=ok\nwrite=error -32603")
		if v.content("made.txt") != "from the agent" || v.content("empty.txt") != "" {
			v.t.Errorf("written: %q %q", v.content("made.txt"), v.content("empty.txt"))
		}
		if _, err := os.Stat(v.path("never.txt")); err == nil {
			v.t.Error("what was denied was written")
		}
		if fates := of[domain.ToolCallCompleted](v.t, log); len(fates) != 3 || fates[2].Fate != domain.FateDenied {
			v.t.Errorf("fates: %+v", fates)
		}
	}},
	"write outside": {"handy", func(v *visit) {
		id := v.startAs(object{"capabilities": object{"write": "allow"}},
			"write "+filepath.Join(v.house.home, "planted.txt")+" x", "write "+v.path("../planted.txt")+" x",
			"write "+v.path("fine.txt")+" x")
		v.told(id, "write=ok")
		if said := text(v.t, v.page(id)); strings.Count(said, "write=error -32602") != 2 {
			v.t.Errorf("the agent was told %q", said)
		}
		for _, name := range []string{v.path("../planted.txt"), filepath.Join(v.house.home, "planted.txt")} {
			if _, err := os.Stat(name); err == nil {
				v.t.Errorf("%s was written", name)
			}
		}
	}},
	"terminal": {"handy", func(v *visit) {
		id, a := v.one(`terminal sh -c "echo out; echo err >&2; touch ran.txt; exit 3"`)
		if a.Kind != "toolCall" || a.Tool != "terminal" || !strings.Contains(string(a.Arguments), "exit 3") {
			v.t.Errorf("asked: %+v", a)
		}
		v.decide(a)
		log := v.told(id, `"exitCode":3`)
		if said := text(v.t, log); !strings.Contains(said, `out\n`) || !strings.Contains(said, `err\n`) {
			v.t.Errorf("the agent was told %q", said)
		}
		v.content("ran.txt")
		fates := of[domain.ToolCallCompleted](v.t, log)
		if len(fates) != 1 || fates[0].ExitCode == nil || *fates[0].ExitCode != 3 || fates[0].Output != "out\nerr\n" {
			v.t.Errorf("fates: %+v", fates)
		}
		if started := of[domain.ToolCallStarted](v.t, log); len(started) != 1 || started[0].Sandbox == "" {
			v.t.Errorf("started: %+v", started)
		}
	}},
	"other arguments": {"handy", func(v *visit) {
		id, a := v.one("terminal touch theirs.txt")
		p := v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/approvals/"+a.ID, object{
			"decision": "approve", "argumentsHash": a.ArgumentsHash, "arguments": object{"command": "touch",
				"args": []string{"ours.txt"}},
		})
		if len(p.Errors) != 1 || p.Errors[0].Pointer != "/arguments" {
			v.t.Errorf("refused: %+v", p)
		}
		v.decide(v.asked(id, 1)[0])
		v.told(id, `"exitCode":0`)
		v.content("theirs.txt")
		if _, err := os.Stat(v.path("ours.txt")); err == nil {
			v.t.Error("what was refused ran")
		}
	}},
	"terminal that is denied": {"handy", func(v *visit) {
		id, a := v.one("terminal touch never.txt")
		v.decide(a, object{"decision": "deny", "reason": "no"})
		v.told(id, "terminal=error -32603")
		if _, err := os.Stat(v.path("never.txt")); err == nil {
			v.t.Error("the denied command ran")
		}
	}},
	"terminal that is killed": {"handy", func(v *visit) {
		id, a := v.one(`terminal sh -c "echo begun; sleep 600" then=kill`)
		v.decide(a)
		v.told(id, `"signal"`)
	}},
	"terminal that is left": {"handy", func(v *visit) {
		id, a := v.one("terminal sleep 600 then=leave release=no")
		v.decide(a)
		log := v.told(id, "terminal=")
		if fates := of[domain.ToolCallCompleted](v.t, log); len(fates) != 1 {
			v.t.Errorf("fates: %+v", fates)
		}
	}},
	"cancelled in a terminal": {"handy", func(v *visit) {
		id, a := v.one("terminal sleep 600")
		v.decide(a)
		v.reach(id, domain.StatusExecutingTool)
		v.cancelled(id, nil)
		if fates := of[domain.ToolCallCompleted](v.t, v.page(id)); len(fates) != 1 || fates[0].Fate != domain.FateCancelled {
			v.t.Errorf("fates: %+v", fates)
		}
	}},
}

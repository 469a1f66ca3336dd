package e2e

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
)

var registryScenes = scenes{
	"listed": {"scripted", func(v *visit) {
		type agent struct {
			Name, Type, Description string
			Available               bool
			Reason, Version, Mode   *string
		}
		all := want[list[agent]](v.client, http.StatusOK, "GET", "/agents", nil).Items
		named := func(name string) agent {
			at := slices.IndexFunc(all, func(a agent) bool { return a.Name == name })
			if at < 0 {
				v.t.Fatalf("%s is not in the list: %+v", name, all)
			}
			return all[at]
		}
		if all[0].Name != "internal" || all[0].Type != "internal" {
			v.t.Errorf("the first one is %+v", all[0])
		}
		if a := named("scripted"); a.Type != "acp" || !a.Available || a.Reason != nil ||
			a.Description != "Does what it is told." {
			v.t.Errorf("scripted: %+v", a)
		}
		if a := named("missing"); a.Available || a.Reason == nil || !strings.Contains(*a.Reason, "no-such-program-anywhere") {
			v.t.Errorf("missing: %+v", a)
		}
		if a := named("preset"); a.Mode == nil || *a.Mode != "ask" {
			v.t.Errorf("preset: %+v", a)
		}
		if slices.ContainsFunc(all, func(a agent) bool { return a.Name == "disabled" }) {
			v.t.Error("an agent that is switched off is listed")
		}
	}},
	"spellings": {"scripted", func(v *visit) {
		for _, spelling := range []string{"Scripted", "SCRIPTED", "scripted_", "scrip-ted"} {
			id := v.startAs(object{"source": object{"type": "acp", "command": spelling}})
			if end := v.ended(id); end.Status != "completed" {
				v.t.Errorf("%s: %+v", spelling, end.Output)
			}
			if created := of[domain.ExecutionCreated](v.t, v.page(id)); created[0].Source.Command != "scripted" {
				v.t.Errorf("%s became %q", spelling, created[0].Source.Command)
			}
		}
	}},
	"by its program": {"resuming", func(v *visit) {
		program := acptest.Build(v.t)
		for _, source := range []object{
			{"type": "acp", "command": program, "args": []string{"-resume"}},
			{"type": "acp", "command": filepath.Base(program), "args": []string{"-resume"}},
			{"type": "acp", "command": "resuming", "args": []string{"-resume"}},
		} {
			id := v.startAs(object{"source": source}, "whoami")
			v.ended(id)
			if who := whoamis(v.t, v.page(id)); len(who) != 1 || !slices.Equal(who[0].Argv, []string{"-resume"}) {
				v.t.Errorf("%v: %+v", source, who)
			}
		}
	}},
	"not what a request says": {"scripted", func(v *visit) {
		for _, command := range []string{"nobody", "missing-", "disabled", "sh", "/bin/sh", "./agent", "../agent",
			acptest.Build(v.t), "scripted; id", "scripted "} {
			p := v.refused(http.StatusUnprocessableEntity, "unknownAgent", "POST", "/executions",
				v.request(object{"source": object{"type": "acp", "command": command, "args": []string{"-c", "id"}}}))
			if len(p.Errors) != 1 {
				v.t.Errorf("%s: %+v", command, p)
			}
		}
		p := v.refused(http.StatusUnprocessableEntity, "unknownAgent", "POST", "/executions",
			v.request(object{"source": object{"type": "acp", "command": "nobody"}}))
		if !strings.Contains(p.Detail, "scripted") || strings.Contains(p.Detail, "disabled") ||
			p.Errors[0].Pointer != "/source/command" {
			v.t.Errorf("an unknown agent: %+v", p)
		}
		for _, args := range [][]string{{"-no-load"}, {""}, {"-resume", "-no-load"}} {
			p := v.refused(http.StatusUnprocessableEntity, "unknownAgent", "POST", "/executions",
				v.request(object{"source": object{"type": "acp", "command": "resuming", "args": args}}))
			if p.Errors[0].Pointer != "/source/args" {
				v.t.Errorf("%q: %+v", args, p)
			}
		}
		v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
			v.request(object{"source": object{"type": "acp"}}))
		v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
			v.request(object{"source": object{"type": "internal", "command": "scripted"}}))
	}},
	"not installed": {"missing", func(v *visit) {
		p := v.refused(http.StatusUnprocessableEntity, "agentUnavailable", "POST", "/executions", v.request(nil))
		if !strings.Contains(p.Detail, "no-such-program-anywhere") || p.Errors[0].Pointer != "/source/command" {
			v.t.Errorf("%+v", p)
		}
	}},
	"options": {"choosy", func(v *visit) {
		id := v.startAs(object{"source": object{"type": "acp", "command": "choosy", "model": "large",
			"options": object{"mode": "code", "thought_level": "max"}}}, "whoami")
		v.ended(id)
		log := v.page(id)
		if set := whoamis(v.t, log)[0].Settings; set["mode"] != "code" || set["model"] != "large" || set["effort"] != "max" {
			v.t.Errorf("the agent has %v", set)
		}
		told := of[domain.AgentOptionsUpdated](v.t, log)
		if len(told) != 1 || len(told[0].Options) != 3 || told[0].Options[2].Current != "max" ||
			told[0].Options[2].Description != "How long it thinks." || len(told[0].Options[2].Choices) != 3 {
			v.t.Errorf("told: %+v", told)
		}
	}},
	"options that contradict": {"choosy", func(v *visit) {
		p := v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", v.request(object{"source": object{
			"type": "acp", "command": "choosy", "mode": "ask", "options": object{"mode": "code"}}}))
		if len(p.Errors) != 1 || p.Errors[0].Pointer != "/source/mode" {
			v.t.Errorf("%+v", p)
		}
	}},
	"mode and model": {"modal", func(v *visit) {
		for _, agent := range []string{"modal", "oldfashion"} {
			id := v.startAs(object{"source": object{"type": "acp", "command": agent, "mode": "code", "model": "large"}},
				"whoami")
			v.ended(id)
			log := v.page(id)
			who := whoamis(v.t, log)
			if len(who) != 1 || who[0].Settings["mode"] != "code" || who[0].Settings["model"] != "large" {
				v.t.Errorf("%s got %+v", agent, who)
			}
			if started := of[domain.AgentStarted](v.t, log); len(started) != 1 || started[0].Mode != "code" ||
				started[0].Model != "large" ||
				started[0].Name != "scripted-agent" || started[0].Version != "1" || started[0].AgentSession == "" ||
				!started[0].Resumable {
				v.t.Errorf("%s started: %+v", agent, started)
			}
		}
	}},
	"mode of the registry": {"preset", func(v *visit) {
		if _, log := v.complete("whoami"); whoamis(v.t, log)[0].Settings["mode"] != "ask" {
			v.t.Errorf("the mode is %+v", whoamis(v.t, log))
		}
	}},
	"mode that is not offered": {"unheard", func(v *visit) {
		wrong := func(field string) object {
			return v.request(object{"source": object{"type": "acp", "command": "unheard", field: "nonsense"}})
		}
		id := want[execution](v.client, http.StatusCreated, "POST", "/executions", wrong("mode")).ID
		end := v.ended(id)
		if end.Status != "failed" || end.Output.Error.Code != "invalid" || !strings.Contains(end.Output.Error.Message, "ask, code") {
			v.t.Errorf("%s %+v", end.Status, end.Output)
		}
		if len(of[domain.TurnStarted](v.t, v.page(id))) > 0 {
			v.t.Error("the agent was prompted in another mode")
		}
		for field, offered := range map[string]string{"mode": "ask, code", "model": "small, large"} { // by now it is known
			p := v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions", wrong(field))
			if len(p.Errors) != 1 || p.Errors[0].Pointer != "/source/"+field || !strings.Contains(p.Detail, offered) {
				v.t.Errorf("%s: %+v", field, p)
			}
		}
	}},
	"probed": {"curious", func(v *visit) {
		type details struct {
			Name, Version string
			Probing       bool
			Offers        struct {
				Version string
				Options []domain.AgentOption
			}
		}
		a := want[details](v.client, http.StatusOK, "GET", "/agents/Curious", nil)
		if a.Name != "curious" || a.Probing || a.Offers.Version != "1" || len(a.Offers.Options) != 3 || a.Offers.Options[2].Category != "thought_level" {
			v.t.Fatalf("%+v", a)
		}
		p := v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
			v.request(object{"source": object{"type": "acp", "command": "curious", "options": object{"effort": "max"}}}))
		if !strings.Contains(p.Detail, "low, high") || p.Errors[0].Pointer != "/source/options/effort" {
			v.t.Errorf("%+v", p)
		}
	}},
	"mode that asks nobody": {"modal", func(v *visit) {
		for _, mode := range []string{"bypassPermissions", "yolo"} {
			p := v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
				v.request(object{"source": object{"type": "acp", "command": "modal", "mode": mode}}))
			if len(p.Errors) != 1 || p.Errors[0].Pointer != "/source/mode" {
				v.t.Errorf("%s: %+v", mode, p)
			}
		}
	}},
	"folder and environment": {"private", func(v *visit) {
		_, log := v.complete("whoami")
		who := whoamis(v.t, log)[0]
		if who.Cwd != v.folder || who.ProcessCwd != v.folder || who.ClientInfo.Name != "signoff" {
			v.t.Errorf("who: %+v", who)
		}
		for _, name := range who.Env {
			if !slices.Contains([]string{"HOME", "PATH", "LANG", "TERM", "TZ", "USER", "TMPDIR", markName}, name) {
				v.t.Errorf("the agent has %s", name)
			}
		}
		if found, _ := filepath.Glob(filepath.Join(v.house.data(), "agents", "private", "home", ".scripted-agent",
			"*")); len(found) == 0 {
			v.t.Error("its sessions are not in its own home")
		}
	}},
	"mcp servers": {"scripted", func(v *visit) {
		id := v.startAs(object{"mcpServers": []string{"tools"}, "keepOpen": true}, "whoami", "late 50 crash 3")
		v.eventually("its exit", func() bool { return len(of[domain.AgentExited](v.t, v.page(id))) == 1 })
		v.prompt(id, "whoami")
		v.eventually("the second turn", func() bool { return len(of[domain.TurnEnded](v.t, v.page(id))) == 2 })
		who := whoamis(v.t, v.page(id))
		if len(who) != 2 || who[0].Opened != "new" || who[1].Opened != "load" {
			v.t.Fatalf("who: %+v", who)
		}
		for _, one := range who {
			if len(one.MCPServers) != 1 || one.MCPServers[0]["name"] != "tools" ||
				!slices.Equal(one.MCPServers[0]["args"].([]any), []any{"mcp-relay", "tools", "/bin/true", "serve"}) {
				v.t.Errorf("%s got %+v", one.Opened, one.MCPServers)
			}
		}
		if told := of[domain.AgentMCPServerUpdated](v.t, v.page(id)); len(told) == 0 || told[0].Status != domain.MCPServerNotStarted {
			v.t.Errorf("the scripted agent starts no server: %+v", told)
		}
		for _, event := range v.page(id) {
			if strings.Contains(event.Raw, toolSecret) {
				v.t.Errorf("the server's key is in the log: %s", event.Raw)
			}
		}
	}},
	"mcp servers that do not do": {"scripted", func(v *visit) {
		p := v.refused(http.StatusUnprocessableEntity, "unknownMcpServer", "POST", "/executions",
			v.request(object{"mcpServers": []string{"tools", "nothing"}}))
		if len(p.Errors) != 1 || p.Errors[0].Pointer != "/mcpServers/1" || !strings.Contains(p.Detail, "tools") {
			v.t.Errorf("unknown: %+v", p)
		}
		v.refused(http.StatusUnprocessableEntity, "invalid", "POST", "/executions",
			object{"source": object{"type": "internal"}, "prompt": "x", "mcpServers": []string{"tools"}})
		end := v.ended(v.startAs(object{"mcpServers": []string{"remote"}}))
		if end.Status != "failed" || end.Output.Error.Code != "invalid" || !strings.Contains(end.Output.Error.Message,
			"remote") {
			v.t.Errorf("a server that the agent cannot reach: %+v", end.Output)
		}
	}},
}

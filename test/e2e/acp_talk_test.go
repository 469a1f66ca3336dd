package e2e

import (
	"encoding/json"
	"fmt"
	"strings"

	"signoff/internal/domain"
)

func unmarshal(content []byte, into any) error { return json.Unmarshal(content, into) }

// updates are what agent.updated has passed on, of one kind.
func (v *visit) updates(log []wireEvent, kind string) (all []object) {
	v.t.Helper()
	for _, updated := range of[domain.AgentUpdated](v.t, log) {
		if updated.Kind == kind {
			var update object
			must(v.t, unmarshal(updated.Update, &update))
			all = append(all, update)
		}
	}
	return all
}

var talkScenes = scenes{
	"greeting": {"scripted", func(v *visit) {
		end, _ := v.complete()
		if end.Output.Text != "Hello from the scripted agent." || end.Output.FinishReason != "endTurn" {
			v.t.Errorf("ended: %+v", end.Output)
		}
	}},
	"all that it says": {"modal", func(v *visit) {
		end, log := v.complete("think Where are they?", `say "Here: "`, "say é😀", "plan look:completed act",
			"commands plan review",
			"mode code", "config model large", `info "A title"`, "usage 1200 200000 0.25",
			`raw {"sessionUpdate":"brand_new","x":[1,2],"_meta":{"vendor":{"k":1}}}`,
			`raw {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"!"},"_meta":{"m":true}}`,
			`notify _vendor/limits {"rateLimits":{"primary":{"usedPercent":7}}}`, `notify _vendor/other {"y":2}`)
		thought := ""
		for _, p := range of[domain.ThoughtDelta](v.t, log) {
			thought += p.Text
		}
		if thought != "Where are they?" || text(v.t, log) != "Here: é😀!" {
			v.t.Errorf("thought %q, said %q", thought, text(v.t, log))
		}
		if plan := of[domain.PlanUpdated](v.t, log); len(plan) != 1 || len(plan[0].Entries) != 2 ||
			plan[0].Entries[0].Status != "completed" ||
			plan[0].Entries[1].Content != "act" || !strings.Contains(string(plan[0].Update), `"priority"`) {
			v.t.Errorf("plan: %+v", plan)
		}
		if commands := of[domain.CommandsUpdated](v.t, log); len(commands) != 1 ||
			!strings.Contains(string(commands[0].Update), "review") {
			v.t.Errorf("commands: %+v", commands)
		}
		if mode := of[domain.AgentModeChanged](v.t, log); len(mode) != 1 || mode[0].Mode != "code" || mode[0].Turn != 1 {
			v.t.Errorf("mode: %+v", mode)
		}
		if info := v.updates(log, "session_info_update"); len(info) != 1 || info[0]["title"] != "A title" {
			v.t.Errorf("info: %+v", info)
		}
		if options := v.updates(log, "config_option_update"); len(options) != 1 {
			v.t.Errorf("options: %+v", options)
		}
		if fresh := v.updates(log, "brand_new"); len(fresh) != 1 ||
			fmt.Sprint(fresh[0]["_meta"]) != "map[vendor:map[k:1]]" || fmt.Sprint(fresh[0]["x"]) != "[1 2]" {
			v.t.Errorf("an unknown kind: %+v", fresh)
		}
		if chunk := v.updates(log, "agent_message_chunk"); len(chunk) != 1 || fmt.Sprint(chunk[0]["_meta"]) != "map[m:true]" {
			v.t.Errorf("a chunk with more than text: %+v", chunk)
		}
		if limits := of[domain.RateLimitUpdated](v.t, log); len(limits) != 1 ||
			!strings.Contains(string(limits[0].Update), "usedPercent") {
			v.t.Errorf("limits: %+v", limits)
		}
		if other := v.updates(log, "_vendor/other"); len(other) != 1 || other[0]["y"] != 2.0 {
			v.t.Errorf("a notification of the vendor's: %+v", other)
		}
		usage := end.Usage
		if usage.ContextUsed == nil || *usage.ContextUsed != 1200 || *usage.ContextSize != 200000 || *usage.Cost != 0.25 ||
			usage.InputTokens != nil {
			v.t.Errorf("usage: %+v", usage)
		}
	}},
	"why it stops": {"scripted", func(v *visit) {
		for reason, expected := range map[string]struct{ status, finish, code string }{
			"end_turn":          {"completed", "endTurn", ""},
			"max_tokens":        {"failed", "maxTokens", "limitReached"},
			"max_turn_requests": {"failed", "maxIterations", "limitReached"},
			"refusal":           {"failed", "refusal", "refused"},
			"cancelled":         {"failed", "error", "agentFailed"},
			"fancy_new":         {"failed", "error", "agentProtocol"},
		} {
			end := v.ended(v.start("say Half.", "stop "+reason))
			code := ""
			if end.Output.Error != nil {
				code = end.Output.Error.Code
			}
			if end.Status != expected.status || end.Output.FinishReason != expected.finish || code != expected.code ||
				end.Output.Text != "Half." {
				v.t.Errorf("%s: %s %+v %+v", reason, end.Status, end.Output, end.Output.Error)
			}
		}
	}},
	"an error as its answer": {"scripted", func(v *visit) {
		end := v.ended(v.start("say Half.", `fail -32603 "Internal error" {"details":"quota is used up"}`))
		if end.Status != "failed" || end.Output.Error.Code != "agentFailed" ||
			!strings.Contains(end.Output.Error.Message, "quota is used up") ||
			end.Output.Text != "Half." {
			v.t.Errorf("ended: %+v %+v", end.Output, end.Output.Error)
		}
	}},
	"what the answer tells": {"scripted", func(v *visit) {
		end, log := v.complete("say Done.",
			`result {"usage":{"inputTokens":100,"outputTokens":20,"thoughtTokens":5,"cachedReadTokens":60,"totalTokens":125}}`,
			`result {"_meta":{"z":9}}`)
		u := end.Usage
		if u.InputTokens == nil || *u.InputTokens != 100 || *u.OutputTokens != 20 || *u.ReasoningTokens != 5 ||
			*u.CacheReadTokens != 60 ||
			*u.TotalTokens != 125 || u.Cost != nil || u.CacheWriteTokens != nil {
			v.t.Errorf("usage: %+v", u)
		}
		if results := v.updates(log, "promptResult"); len(results) != 1 || fmt.Sprint(results[0]["_meta"]) != "map[z:9]" {
			v.t.Errorf("results: %+v", results)
		}
	}},
	"zeros are not known": {"scripted", func(v *visit) {
		end, _ := v.complete("say Done.", `result {"usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}`,
			"usage 0 0 0")
		if end.Usage != (domain.Usage{}) {
			v.t.Errorf("usage: %+v", end.Usage)
		}
	}},
	"every byte": {"scripted", func(v *visit) {
		const pieces = 3000
		expected := ""
		for i := range pieces {
			piece := fmt.Sprintf("%d ", i)
			expected += strings.Repeat(".", max(0, 12-len(piece))) + piece
		}
		end, log := v.complete(fmt.Sprintf("burst %d 12", pieces))
		if text(v.t, log) != expected || end.Output.Text != expected {
			v.t.Errorf("%d bytes in the log, %d in the output, want %d", len(text(v.t, log)), len(end.Output.Text),
				len(expected))
		}
		v.t.Logf("%d pieces became %d events", pieces, len(of[domain.MessageDelta](v.t, log)))
	}},
	"messages": {"scripted", func(v *visit) {
		end, log := v.complete("message m1", "say first", "message m2", "say second", "message m1", "say again")
		messages := map[string]string{}
		for _, p := range of[domain.MessageDelta](v.t, log) {
			messages[p.MessageID] += p.Text
		}
		if len(of[domain.MessageCompleted](v.t, log)) != len(messages) || len(messages) < 2 {
			v.t.Errorf("messages: %q", messages)
		}
		if text(v.t, log) != "firstsecondagain" || end.Output.Text == "" {
			v.t.Errorf("said %q, output %q", text(v.t, log), end.Output.Text)
		}
	}},
	"calls that it does not ask about": {"scripted", func(v *visit) {
		_, log := v.complete(`call c1 kind=execute title="Run ls" input={"command":"ls"} status=in_progress`,
			"update c1 completed a.txt",
			"call c2 kind=edit title=Write", "diff c2 a.txt old new", "update c2 failed nope",
			"call c3 title=Forgotten status=in_progress")
		requested, started, fates := of[domain.ToolCallRequested](v.t, log), of[domain.ToolCallStarted](v.t, log),
			of[domain.ToolCallCompleted](v.t, log)
		if len(requested) != 3 || requested[0].Class != domain.ClassExecute || requested[1].Class != domain.ClassWrite ||
			requested[2].Class != domain.ClassOther || !strings.Contains(string(requested[0].Arguments), "ls") {
			v.t.Errorf("requested: %+v", requested)
		}
		for _, s := range started {
			if s.AllowedBy != "agent" {
				v.t.Errorf("started: %+v", s)
			}
		}
		if len(fates) != 3 || fates[0].Fate != domain.FateSucceeded || fates[0].Output != "a.txt" ||
			fates[1].Fate != domain.FateFailed ||
			fates[2].Fate != domain.FateOutcomeUnknown {
			v.t.Errorf("fates: %+v", fates)
		}
		reports := ""
		for _, report := range of[domain.ToolCallReported](v.t, log) {
			reports += string(report.Update) + "\n"
		}
		if !strings.Contains(reports, `"type":"diff"`) || !strings.Contains(reports, `"oldText":"old"`) {
			v.t.Errorf("reports: %s", reports)
		}
	}},
	"silence": {"impatient", func(v *visit) {
		_, log := v.complete("say wait", "silence 2500", "say done")
		if silent := of[domain.AgentSilent](v.t, log); len(silent) == 0 || silent[0].Turn != 1 || silent[0].Seconds < 1 {
			v.t.Errorf("silent: %+v", silent)
		}
	}},
}

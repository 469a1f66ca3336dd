package e2e

import (
	"net/http"
	"strings"
	"time"

	"signoff/internal/domain"
)

type debugPage = struct {
	Items []struct {
		N         int64
		Direction string
		Message   string
		Bytes     int
	}
	NextCursor *string
}

func (v *visit) debugFeed(id, query string) debugPage {
	v.t.Helper()
	return want[debugPage](v.client, http.StatusOK, "GET", "/executions/"+id+"/debug"+query, nil)
}

var debugScenes = scenes{
	"off by default": {"scripted", func(v *visit) {
		end, log := v.complete("stderr hidden", "say shown")
		if feed := v.debugFeed(end.ID, ""); len(feed.Items) > 0 || feed.NextCursor != nil {
			v.t.Errorf("feed: %+v", feed)
		}
		if stderr := of[domain.AgentStderr](v.t, log); len(stderr) > 0 {
			v.t.Errorf("standard error: %+v", stderr)
		}
	}},
	"on": {"secretive", func(v *visit) {
		id := v.startAs(object{"debug": true, "keepOpen": true}, "say a key", "shell echo key is $MY_AGENT_KEY", "stderr my key is "+secret,
			"say b key",
			`raw {"sessionUpdate":"brand_new","key":"`+secret+`"}`)
		v.reach(id, domain.StatusIdle)
		v.eventually("its standard error", func() bool { // which comes by another pipe than the end of the turn, and may come after it
			stderr := ""
			for _, piece := range of[domain.AgentStderr](v.t, v.page(id)) {
				stderr += piece.Text
			}
			return strings.Contains(stderr, "my key is ")
		})
		v.closed(id)
		log := v.told(id, "key is ")
		feed := v.debugFeed(id, "")
		all, directions := "", map[string]int{}
		for i, message := range feed.Items {
			if i > 0 && message.N <= feed.Items[i-1].N {
				v.t.Errorf("message %d comes behind %d", message.N, feed.Items[i-1].N)
			}
			directions[message.Direction]++
			all += message.Message + "\n"
		}
		if directions["toAgent"] < 3 || directions["fromAgent"] < 5 || len(directions) != 2 ||
			!strings.Contains(all, "session/new") ||
			!strings.Contains(all, "session/prompt") || !strings.Contains(all, "a key") || !strings.Contains(all, "stopReason") {
			v.t.Errorf("directions %v: %s", directions, all)
		}
		for _, event := range log {
			all += event.Raw + "\n"
		}
		// the prompt is the client's own, and it wrote the key into it
		for line := range strings.Lines(all) {
			if strings.Contains(line, secret) {
				v.t.Errorf("the key is shown: %s", line)
			}
		}
		v.paged(id, feed)
	}},
	"of a crash": {"secretive", func(v *visit) {
		end := v.ended(v.start("say half", "stderr first line", "shell echo my key is $MY_AGENT_KEY >&2; exit 3",
			"stderr key "+secret, "crash 9"))
		message := end.Output.Error.Message
		if end.Output.Error.Code != "agentExited" || !strings.Contains(message, "exit code 9") ||
			!strings.Contains(message, "first line") ||
			strings.Contains(message, secret) {
			v.t.Errorf("failed with %q", message)
		}
	}},
}

// paged reads the feed in pages of three.
func (v *visit) paged(id string, whole debugPage) {
	v.t.Helper()
	read, query := 0, "?limit=3"
	for {
		page := v.debugFeed(id, query)
		for _, message := range page.Items {
			if message != whole.Items[read] {
				v.t.Fatalf("page: %+v, whole: %+v", message, whole.Items[read])
			}
			read++
		}
		if page.NextCursor == nil {
			break
		}
		query = "?limit=3&after=" + *page.NextCursor
	}
	if read != len(whole.Items) {
		v.t.Errorf("%d messages in pages, %d at once", read, len(whole.Items))
	}
}

var endScenes = scenes{
	"crash at initialize": failsSoon("stillborn", "agentExited", "exit code 4", "no licence"),
	"crash at new":        failsSoon("homeless", "agentExited", "exit code 5", "no room"),
	"crash at prompt":     failsSoon("speechless", "agentExited", "exit code 7", "no words"),
	"crash in a turn":     failsSoon("scripted", "agentExited", "exit code 8", "no breath"),
	"sign in": failsSoon("locked", "agentUnauthorized", "Sign in with browser",
		"Sign in with the agent's own command"),
	"another protocol":    failsSoon("ancient", "agentProtocol", "version 2"),
	"hangs at initialize": failsSoon("slow", "agentTimedOut", "initialize"),
	"crash at load": {"amnesiac", func(v *visit) {
		id := v.startAs(open, "say one", "late 50 crash 3")
		v.exited(id, 1)
		v.prompt(id, "say two")
		v.reach(id, domain.StatusInterrupted)
		changes := of[domain.StateChanged](v.t, v.page(id))
		if why := changes[len(changes)-1].Reason; !strings.Contains(why, "exit code 6") || !strings.Contains(why, "no memory") {
			v.t.Errorf("interrupted: %s", why)
		}
		want[execution](v.client, http.StatusAccepted, "POST", "/executions/"+id+"/resume", object{"mode": "fail"})
		if end := v.ended(id); end.Status != "failed" || end.Output.Error.Code != "interrupted" {
			v.t.Errorf("ended: %s %+v", end.Status, end.Output.Error)
		}
	}},
	"exits right behind its answer": {"scripted", func(v *visit) {
		if end, _ := v.complete("say done", "answerexit 3"); end.Output.Text != "done" {
			v.t.Errorf("ended: %+v", end.Output)
		}
	}},
	"leaves processes": {"scripted", func(v *visit) {
		v.complete("orphan "+v.path("pid.txt")+" 600", "shell setsid sleep 601 >/dev/null 2>&1 &", "say done")
	}},
	"ignores the end": {"scripted", func(v *visit) {
		v.complete("ignoreeof", "ignoreterm", "say done")
	}},
}

// failsSoon is the scene in which an agent cannot do anything, and somebody reads why, at once.
func failsSoon(agent, code string, words ...string) scene {
	return scene{agent, func(v *visit) {
		begun := time.Now()
		end := v.ended(v.start("stderr no breath", "crash 8"))
		if took := time.Since(begun); took > patience {
			v.t.Errorf("it took %s", took)
		}
		if end.Status != "failed" || end.Output.Error == nil || end.Output.Error.Code != code {
			v.t.Fatalf("ended: %s %+v", end.Status, end.Output.Error)
		}
		for _, word := range words {
			if !strings.Contains(end.Output.Error.Message, word) {
				v.t.Errorf("the failure does not say %q: %s", word, end.Output.Error.Message)
			}
		}
	}}
}

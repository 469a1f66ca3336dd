package e2e

import (
	"os"
	"strings"
	"testing"

	"signoff/internal/acp/acptest"
	"signoff/internal/domain"
	"signoff/test/harness"
)

// TestSeedsNamePlaces runs each example of the seeds that names a path, a log, a service, a cluster or a private host, with stand-ins at exactly
// those places. A case has the number of its seed, the line, and what the line says.
func TestSeedsNamePlaces(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.environments(object{
		"app":      object{"mounts": object{"/etc/app": "write"}, "network": []string{"corp"}},
		"reports":  object{"mounts": object{"/data/metrics": "read", "/data/reports": "write"}},
		"cluster":  object{"network": []string{"corp"}, "files": object{"KUBECONFIG": kubeconfig}},
		"incident": object{"view": "machine", "mounts": object{"/etc/shop": "write"}, "network": []string{"corp"}, "processes": "host"},
		"dags":     object{"mounts": object{"/srv/dags": "write"}},
		"host":     object{"isolation": "none", "user": "operator"},
	})
	installsAgent(t, o)
	o.start()
	for name, test := range map[string]func(*testing.T, *operator){
		"000:123 Analyze this data: {{ doc.named['query'].output.rows }}":              analyzesRows,
		"000:205 Analyze these error logs and identify patterns: {{ … fetch_logs … }}": analyzesFetchedLogs,
		"000:205 … by the agent `claude`, whose process sees the log":                  analyzesLogsItself,
		"003:36 Automated code review":                                                 reviewsCode,
		"003:37 Infrastructure management":                                             managesInfrastructure,
		"003:38 Report generation":                                                     writesReport,
		"003:39 Incident response":                                                     respondsToIncident,
		"003:40 DAG self-maintenance":                                                  maintainsDefinitions,
		"003:54 Analyze the error logs at /var/log/app/errors.log from the last hour":  analyzesLogs,
		"003:97 The config at /etc/app/config.yaml has an invalid database_url":        fixesConfig,
		"003:137 Analyze ${INPUT_FILE} and write results to ${OUTPUT_DIR}":             writesToVariables,
		"a cluster, by its read-only credential":                                       looksAtCluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, o)
		})
	}
}

// looks is the capability of an execution whose commands need no question.
var looks = object{"execute": "allow", "write": "allow", "network": "allow"}

// in starts an execution in an environment. The model plays the steps and then says the newest result.
func (s *story) in(environment any, change ...object) string {
	s.t.Helper()
	body := object{"source": object{"type": "internal"}, "environment": environment, "capabilities": looks}
	return s.createdAs(body, change...)
}

// reports ends a turn with everything that the model was told by its tools.
func reports(a *answer, conversation []message) {
	for _, m := range conversation {
		if m.Role == "tool" {
			a.Say(m.Content, "\n")
		}
	}
}

// finds expects the output of an execution to contain texts.
func (s *story) finds(id string, texts ...string) string {
	s.t.Helper()
	output := s.over(id, domain.StatusCompleted).Output.Text
	for _, text := range texts {
		if !strings.Contains(output, text) {
			s.t.Errorf("%q is not in\n%s", text, output)
		}
	}
	return output
}

// analyzesRows has an earlier block query the database with a program that knows no proxy.
func analyzesRows(t *testing.T, o *operator) {
	query := o.story(t, calls("bash", object{"command": "psql -h db.corp.example -c 'select count(*) from orders'"}), reports)
	id := query.in("app", object{"prompt": query.prompt("query")})
	rows := query.finds(id, "(1 row) select count(*) from orders")
	s := o.story(t, finally("One row."))
	analysis := s.in("workspace", object{
		"prompt":    s.prompt("Analyze this data: {{ doc.named['query'].output.rows }}"),
		"variables": object{"doc": object{"named": object{"query": object{"output": object{"rows": rows}}}}},
	})
	if shown := s.over(analysis, domain.StatusCompleted); !strings.Contains(shown.Prompt, "(1 row) select count(*)") {
		t.Errorf("the prompt is %s", shown.Prompt)
	}

	s = o.story(t, calls("bash", object{"command": "psql -h db.corp.example -c 'select 1'"}), reports)
	if output := s.finds(s.in("workspace", object{"prompt": s.prompt("go")})); strings.Contains(output, "(1 row)") {
		t.Errorf("the environment workspace reaches the database: %s", output)
	}
}

// analyzesFetchedLogs has an earlier block fetch the log.
func analyzesFetchedLogs(t *testing.T, o *operator) {
	fetch := o.story(t, calls("bash", object{"command": "tail -n 100 /var/log/app/errors.log"}), reports)
	first := fetch.in("machine", object{"prompt": fetch.prompt("fetch_logs")})
	fetch.finds(first, "connection to localhst refused")
	s := o.story(t, finally("A name is misspelled."))
	id := s.createdAs(object{
		"outputsFrom": object{"fetch_logs": first},
		"block": agentBlock(object{
			"name": "Analyze Logs", "prompt": s.prompt("Analyze these error logs and identify patterns:\n\n{{ doc.named['fetch_logs'].output.text }}"),
			"systemPrompt":   "You are a log analysis expert. Be concise.",
			"capabilities":   object{"readFiles": true, "writeFiles": false, "executeCommands": false, "alwaysAllowTools": false},
			"timeoutSeconds": 300, "workingDirectory": nil,
		}),
	})
	if shown := s.over(id, domain.StatusCompleted); !strings.Contains(shown.Prompt, "connection to localhst refused") {
		t.Errorf("the prompt is %s", shown.Prompt)
	}
}

// installsAgent puts the scripted agent in the place of claude, in an environment.
func installsAgent(t *testing.T, o *operator) {
	t.Helper()
	program, err := os.ReadFile(acptest.Build(t))
	must(t, err)
	o.write("/opt/agents/claude", string(program), 0o755)
	o.env = append(o.env, "AGENT_KEY=sk-of-the-agent-0123456789")
	o.section("agents", object{"claude": object{
		"command": "/opt/agents/claude", "mode": "", "env": []string{"AGENT_KEY"}, "environment": "machine", "hosts": []string{"api.corp.example"},
	}})
}

func analyzesLogsItself(t *testing.T, o *operator) {
	s := o.story(t, finally("not asked"))
	id := s.createdAs(object{"source": object{"type": "acp", "command": "claude"}, "prompt": "Analyze these error logs.\n" +
		"#! shell \"cat /var/log/app/errors.log\"\n#! shell \"cat /etc/signoff/readonly.kubeconfig; ls /data; exit 0\""})
	output := s.finds(id, "connection to localhst refused")
	for _, hidden := range []string{"reads-and-no-more", "metrics"} {
		if strings.Contains(output, hidden) {
			t.Errorf("the agent sees %q: %s", hidden, output)
		}
	}
}

// reviewsCode reads changed files, and its review is a variable of the next step.
func reviewsCode(t *testing.T, o *operator) {
	o.write(runbooks+"/shop/main.go", "package main\n", 0o644)
	o.shellThere(`cd ` + runbooks + `/shop; git init -q; git add .; git -c user.name=x -c user.email=x@example.com commit -qm 'first'
printf 'func main() { panic("todo") }\n' >> main.go`)
	review := o.story(t, calls("bash", object{"command": "git diff"}), calls("read", object{"path": "main.go"}), finally("main panics: do not merge."))
	first := review.in("workspace", object{"prompt": review.prompt("Review the changed files."), "workingDirectory": "shop"})
	review.finds(first, "main panics: do not merge.")
	if told := last(review.requests()[1]).Content; !strings.Contains(told, `+func main() { panic("todo") }`) {
		t.Errorf("the diff is %s", told)
	}
	s := o.story(t, finally("It is held."))
	next := s.in("workspace", object{
		"prompt": s.prompt("Hold the release: {{ doc.named['REVIEW_RESULT'].output.text }}"), "outputsFrom": object{"REVIEW_RESULT": first},
	})
	if shown := s.over(next, domain.StatusCompleted); !strings.Contains(shown.Prompt, "Hold the release: main panics") {
		t.Errorf("the prompt is %s", shown.Prompt)
	}
}

// managesInfrastructure investigates the state of a service and restarts it, which no environment but the host can do.
func managesInfrastructure(t *testing.T, o *operator) {
	commands := []script{
		calls("bash", object{"command": "systemctl status app"}), calls("bash", object{"command": "journalctl -u app"}),
		calls("bash", object{"command": "systemctl restart app"}), reports,
	}
	inside := o.story(t, commands...)
	if output := inside.finds(inside.in("machine", object{"prompt": inside.prompt("go")})); strings.Contains(output, "app.service") || strings.Contains(output, "app[811]") {
		t.Errorf("the environment machine reaches a service: %s", output)
	}
	s := o.story(t, commands...)
	id := s.in("host", object{"prompt": s.prompt("The application is down. Find out why, and restart it."), "capabilities": object{}})
	for range 3 {
		s.decide(s.pending(id))
	}
	s.finds(id, "app.service: failed", "app[811]: cannot connect to localhst", "app.service: active")
}

// writesReport reads data files and leaves a report on disk.
func writesReport(t *testing.T, o *operator) {
	s := o.story(t, calls("read", object{"path": "/data/metrics/disk.csv"}),
		calls("write", object{"path": "/data/reports/disks.md", "content": "# Disks\n\nweb1 is at 97 %.\n"}),
		calls("bash", object{"command": "echo x > /data/metrics/disk.csv"}), reports)
	id := s.in("reports", object{"prompt": s.prompt("Report which disks are full.")})
	s.finds(id, "web1,97", "Read-only file system")
	if report := o.content("/data/reports/disks.md"); !strings.Contains(report, "web1 is at 97 %") {
		t.Errorf("the report is %q", report)
	}
}

// respondsToIncident is what a schedule would start: it checks the health of a service, reads its log, and repairs its configuration.
func respondsToIncident(t *testing.T, o *operator) {
	const check = "curl -sS -o - http://web.shop.svc.cluster.local:443/healthz"
	s := o.story(t, calls("bash", object{"command": check}), calls("bash", object{"command": "ps -e"}), calls("read", object{"path": "/var/log/shop/error.log"}),
		calls("edit", object{"path": "/etc/shop/config.yaml", "oldText": "shop-v1", "newText": "shop-v2"}), calls("bash", object{"command": check}), reports)
	id := s.in("incident", object{"prompt": s.prompt("Check the health of the shop. If it is down, diagnose and repair it."), "policy": object{"unattended": true}})
	output := s.finds(id, "no upstream", "upstream shop-v1 is gone", "healthy", "shopd")
	if strings.Index(output, "no upstream") > strings.Index(output, "healthy") {
		t.Errorf("the shop was not ill before:\n%s", output)
	}
}

// maintainsDefinitions checks and repairs the definitions of other workflows.
func maintainsDefinitions(t *testing.T, o *operator) {
	const check = "dagu validate /srv/dags/nightly.yaml"
	s := o.story(t, calls("list", object{"path": "/srv/dags"}), calls("bash", object{"command": check}), calls("read", object{"path": "/srv/dags/nightly.yaml"}),
		calls("edit", object{"path": "/srv/dags/nightly.yaml", "oldText": "retries: three", "newText": "retries: 3"}), calls("bash", object{"command": check}), reports)
	s.finds(s.in("dags", object{"prompt": s.prompt("Validate the workflows, and repair those that are wrong.")}), "nightly.yaml", "nightly.yaml is valid")
	if o.content("/srv/dags/nightly.yaml") != strings.ReplaceAll(operatorFiles["/srv/dags/nightly.yaml"], "three", "3") {
		t.Errorf("the definition is %s", o.content("/srv/dags/nightly.yaml"))
	}
}

func analyzesLogs(t *testing.T, o *operator) {
	steps := []script{calls("read", object{"path": "/var/log/app/errors.log"}), calls("bash", object{"command": "grep -c ERROR /var/log/app/errors.log"}), reports}
	s := o.story(t, steps...)
	messages := []object{{"role": "user", "content": s.prompt("Analyze the error logs at /var/log/app/errors.log from the last hour.\n" +
		"Summarize the root causes and suggest fixes.\n")}}
	s.finds(s.in("machine", object{"messages": messages}), "connection to localhst refused", "2\n")

	s = o.story(t, steps...)
	if output := s.finds(s.in("workspace", object{"prompt": s.prompt("go")})); strings.Contains(output, "connection to localhst") {
		t.Errorf("the environment workspace shows the log: %s", output)
	}
}

// fixesConfig is the full example, whose relative stand-in is [TestAgentStep]: here everything lies where the example says.
func fixesConfig(t *testing.T, o *operator) {
	s := o.story(t, calls("read", object{"path": "/etc/app/config.yaml"}), calls("bash", object{"command": "cat /etc/app/config.yaml | grep database_url"}),
		calls("patch", object{"patch": strings.ReplaceAll(strings.ReplaceAll(configPatch, "a/app/", "/etc/app/"), "b/app/", "/etc/app/")}),
		calls("bash", object{"command": "psql -h db.internal -c 'select 1'"}),
		calls("bash", object{"command": "chmod 600 /etc/app/config.yaml"}), reports)
	full := harness.With(fixConfig, object{
		"source": object{"type": "internal"}, "environment": "app", "workingDirectory": "", "runbookId": "fix-config-in-place",
		"instructions": "Focus only on the config files in /etc/app/.\nDo not modify any files outside that directory.",
		"prompt": s.prompt("The config at /etc/app/config.yaml has an invalid database_url.\n" +
			"Read the file, fix the URL to point to ${DB_HOST}, and validate.\n"),
		"templateSyntax": "dollar", "variables": object{"DB_HOST": "db.internal"},
	})
	for _, field := range []string{"messages", "workingDirectory"} {
		delete(full, field)
	}
	full["tools"] = harness.With(fixConfig["tools"].(object), object{"enabled": []string{"bash", "read", "patch", "think"}}) // nothing to search the web with
	id := s.createdAs(full)
	s.approve(id, "patch", "/etc/app/config.yaml")
	s.approve(id, "bash", "psql -h db.internal")
	held := s.pending(id)
	if !strings.Contains(held.Summary, "chmod 600 /etc/app/config.yaml") {
		t.Errorf("held: %s", held.Summary)
	}
	s.decide(held, object{"decision": "deny", "reason": "the mode is right"})
	s.finds(id, "database_url: postgres://localhst/app", "(1 row) select 1", "the mode is right")
	if !strings.Contains(o.content("/etc/app/config.yaml"), "postgres://db.internal/app\n") {
		t.Errorf("the file is %s", o.content("/etc/app/config.yaml"))
	}
	if shown := s.see(id); !strings.Contains(shown.Prompt, "point to db.internal, and validate") {
		t.Errorf("the prompt is %s", shown.Prompt)
	}
}

func writesToVariables(t *testing.T, o *operator) {
	s := o.story(t, calls("bash", object{"command": "sort -t, -k2 -n /data/metrics/disk.csv > /data/reports/sorted.csv"}), reports)
	id := s.in("reports", object{
		"prompt": s.prompt("Analyze ${INPUT_FILE} and write results to ${OUTPUT_DIR}"), "templateSyntax": "dollar",
		"variables": object{"INPUT_FILE": "/data/metrics/disk.csv", "OUTPUT_DIR": "/data/reports"},
	})
	if shown := s.over(id, domain.StatusCompleted); !strings.Contains(shown.Prompt, "Analyze /data/metrics/disk.csv and write results to /data/reports") {
		t.Errorf("the prompt is %s", shown.Prompt)
	}
	if sorted := o.content("/data/reports/sorted.csv"); sorted != "host,used\nweb2,41\nweb1,97\n" {
		t.Errorf("the result is %q", sorted)
	}
}

// looksAtCluster reads with the credential that the operator lends, which no one else sees.
func looksAtCluster(t *testing.T, o *operator) {
	steps := []script{
		calls("bash", object{"command": "kubectl get deployment shop"}), calls("bash", object{"command": "kubectl delete deployment shop"}),
		calls("bash", object{"command": "cat $KUBECONFIG"}), reports,
	}
	s := o.story(t, steps...)
	id := s.in("cluster", object{"prompt": s.prompt("Is the deployment healthy?"), "safeMode": false})
	s.finds(id, "deployment shop: shop 2/2 ready", "the reader cannot delete", "server: http://api.corp.example:6443")
	for _, conversation := range s.requests() {
		for _, m := range conversation {
			if strings.Contains(m.Content, clusterToken) {
				t.Errorf("the model was sent the token: %s", m.Content)
			}
		}
	}

	s = o.story(t, steps...)
	id = s.in("workspace", object{"prompt": s.prompt("go"), "safeMode": false})
	if output := s.finds(id); strings.Contains(output, "2/2 ready") || strings.Contains(output, "server:") {
		t.Errorf("the environment workspace reaches the cluster: %s", output)
	}
}

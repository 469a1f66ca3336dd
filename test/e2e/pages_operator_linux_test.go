package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// The pages name files, services and private hosts of an operator. These tests run their examples on a machine that has them.

// works says what the commands of a worked example must find.
var works = map[string][]string{
	"### A disk is full":            {"/data/reports", "/var/log/app/errors.log"},
	"### The log of an application": {"localhst refused", "shop 4.2", "shopd"},
	"### A cluster, read-only":      {"deployment shop: shop 2/2 ready", "pods: shop 2/2 ready"},
	"### A database":                {"(1 row) select count(*) from orders"},
	"### Services of the host":      {"app.service: failed", "app[811]: cannot connect", "app.service: active"},
}

// TestTheWorkedExamplesWork starts a server with the configuration of each worked example, sends its request, and has the model run its commands.
func TestTheWorkedExamplesWork(t *testing.T) {
	t.Parallel()
	sections := map[string]map[string]string{} // heading → language → text
	for _, e := range examples(t, environmentsPage) {
		if works[e.heading] == nil {
			continue
		}
		if sections[e.heading] == nil {
			sections[e.heading] = map[string]string{}
		}
		sections[e.heading][e.language] = e.text
	}
	for heading, finds := range works {
		t.Run(strings.TrimLeft(heading, "# "), func(t *testing.T) {
			t.Parallel()
			section := sections[heading]
			o := newOperator(t)
			var steps []script
			for command := range strings.Lines(section["text"]) {
				steps = append(steps, calls("bash", object{"command": strings.TrimSpace(command)}))
			}
			o.model.use(inTurn(append(steps, reports)...))
			o.join(o.config(), section["yaml"])
			o.start()
			out := o.shellThere(section["sh"])
			var created execution
			if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &created); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			output := o.approveAll(created.ID)
			for _, text := range finds {
				if !strings.Contains(output, text) {
					t.Errorf("%q is not in\n%s", text, output)
				}
			}
			if len(steps) == 0 || strings.Contains(output, "exit code") {
				t.Errorf("of %d commands some failed:\n%s", len(steps), output)
			}
		})
	}
}

// TestTheEnvironmentsOfThePagesAreRead starts a server with the environments, networks and workspaces of all pages that are no worked examples.
func TestTheEnvironmentsOfThePagesAreRead(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		for _, e := range examples(t, page) {
			if e.language != "yaml" || !e.namesPlaces() || works[e.heading] != nil {
				continue
			}
			t.Run(e.place(), func(t *testing.T) {
				t.Parallel()
				o := newOperator(t)
				o.join(o.config(), e.text)
				o.start()
				for _, shown := range want[list[domain.EnvironmentInfo]](o.client, http.StatusOK, "GET", "/environments", nil).Items {
					if !shown.Available {
						t.Errorf("%s is not available: %s", shown.Name, *shown.Reason)
					}
				}
			})
		}
	}
}

// config is the operator's file, which lies in a folder of this machine.
func (o *operator) config() string { return filepath.Join(o.home, "signoff.yaml") }

// approveAll approves whatever an execution asks, and returns its final answer.
func (o *operator) approveAll(id string) string {
	o.t.Helper()
	o.eventually("the end", func() bool {
		for _, a := range want[list[approval]](o.client, http.StatusOK, "GET", "/executions/"+id+"/approvals", nil).Items {
			if a.Status == "pending" {
				o.decide(a)
			}
		}
		return domain.Status(o.get(id).Status).Terminal()
	})
	end := o.get(id)
	if end.Status != string(domain.StatusCompleted) {
		o.t.Fatalf("ended as %s: %+v", end.Status, end.Output)
	}
	o.sound(id)
	return end.Output.Text
}

// TestTheReadmesDisk runs the README's example about a disk: what only looks runs at once, and what removes something waits.
func TestTheReadmesDisk(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.write("/var/log/app/debug.log", strings.Repeat("x", 4<<20), 0o644)
	o.model.use(inTurn(calls("bash", object{"command": "df -h | sort"}), calls("bash", object{"command": "du -a /var/log | sort -n | tail -n 3"}),
		calls("bash", object{"command": "rm old.log"}), reports))
	o.start()
	command := readmeCommands(t, "## What an agent may do")[0]
	out := o.shellThere(command)
	var created execution
	must(t, json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &created))
	held := o.pending(created.ID)
	if !strings.Contains(held.Summary, "rm old.log") {
		t.Errorf("held: %s", held.Summary)
	}
	o.decide(held, object{"decision": "deny"})
	if end := o.ended(created.ID); !strings.Contains(end.Output.Text, "/var/log/app/debug.log") {
		t.Errorf("the cause is not found: %s", end.Output.Text)
	}
	o.sound(created.ID)
}

// TestTheProgramsOfThePolicyRunWhereItSays runs each command of the table in each environment.
func TestTheProgramsOfThePolicyRunWhereItSays(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.environments(object{
		"app":  object{"mounts": object{"/var/log/app": "read"}, "processes": "host", "network": []string{"corp"}, "files": object{"KUBECONFIG": kubeconfig}},
		"host": object{"isolation": "none", "user": "operator"},
	})
	o.start()
	found := map[string]string{ // what only a command that works prints
		"df -h": "Filesystem", "git --version": "git version", "tail -n 5 /var/log/app/errors.log": "localhst refused", "ps -e": "shopd",
		"kubectl get pods": "pods: shop 2/2 ready", "psql -h db.corp.example -c 'select 1'": "(1 row)",
		"journalctl -u app": "app[811]", "systemctl status app": "app.service: failed", "docker ps": "shop:4.2 Up",
	}
	rows := tableOf(t, "docs/policy.md", "### Where the programs run")
	if len(rows) != len(found) {
		t.Errorf("the table has %d rows, and %d are known here", len(rows), len(found))
	}
	for column, environment := range []string{"workspace", "machine", "app", "host"} {
		t.Run(environment, func(t *testing.T) {
			t.Parallel()
			var steps []script
			for _, row := range rows {
				steps = append(steps, calls("bash", object{"command": strings.Trim(row[0], "`")}))
			}
			s := o.story(t, append(steps, finally("done"))...)
			here := &operator{stage: &stage{server: &server{t: t, client: s.client}}}
			here.approveAll(s.in(environment, object{"prompt": s.prompt("go")}))
			told := s.requests()[len(rows)]
			results := told[len(told)-2*len(rows):]
			for i, row := range rows {
				said, text := row[column+1], found[strings.Trim(row[0], "`")]
				output := results[2*i+1].Content
				if works := said == "yes" || strings.HasPrefix(said, "with "); text == "" || works != strings.Contains(output, text) {
					t.Errorf("%s in %s: the page says %q, and it prints\n%s", row[0], environment, said, output)
				}
			}
		})
	}
}

// tableOf are the cells of the table of a section, without its head.
func tableOf(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	_, section, found := strings.Cut(readPage(t, page), heading+"\n")
	if !found {
		t.Fatalf("%s has no section %s", page, heading)
	}
	for line := range strings.Lines(section) {
		switch {
		case strings.HasPrefix(line, "#"):
			return rows[2:]
		case strings.HasPrefix(line, "|"):
			var cells []string
			for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			rows = append(rows, cells)
		}
	}
	return rows[2:]
}

package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestTheModelIsToldTheTruth: what the system prompt and read_schema say of an environment is so, and a refusal names an environment that shows the thing. A credential that is
// lent is in nothing that the server keeps or sends.
func TestTheModelIsToldTheTruth(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	const lent = "/etc/signoff/lent.yaml"
	rotated := func(n string) string { return "reads-the-lent-file-" + n }
	o.write(lent, "server: corp\npassword: "+rotated("one")+"\n", 0o600)
	o.environments(object{
		"lending": object{"files": object{"LENT": lent}, "network": []string{"corp"}},
		"host":    object{"isolation": "none", "user": "operator"},
	})
	o.start()

	t.Run("workspace", func(t *testing.T) {
		s := o.story(t, calls("read_schema", object{"name": "environment"}), calls("bash", object{"command": "cat /var/log/app/errors.log"}),
			calls("read", object{"path": "/var/log/app/errors.log"}), calls("read", object{"path": "/var/log/app/never-was.log"}),
			calls("bash", object{"command": "curl -sS http://api.corp.example:6443/"}), reports)
		id := s.in("workspace", object{"prompt": s.prompt("go"), "tools": object{"enabled": []string{"bash", "read", "read_schema"}}})
		s.finds(id, "cat: /var/log/app/errors.log: No such file or directory\nsignoff: /var/log/app/errors.log: not visible in environment workspace; environment machine shows it.\nexit code 1",
			"/var/log/app/errors.log: not visible in environment workspace; environment machine shows it.\n",
			"/var/log/app/never-was.log: not visible in environment workspace; environment machine shows it.\n", // the same for what does not exist
			"environment lending reaches it.")
		wasTold(t, s, `the environment "workspace"`, "Commands see besides the programs", `Say that it is "not visible to me"`, "jq")
	})
	t.Run("machine", func(t *testing.T) {
		s := o.story(t, calls("bash", object{"command": "tail -n 1 /var/log/app/errors.log; cat /data/metrics/disk.csv; systemctl status app"}),
			calls("write", object{"path": "/etc/app/new", "content": "x"}), reports)
		id := s.in("machine", object{"prompt": s.prompt("go")})
		s.finds(id, "connection to localhst refused", "signoff: /data/metrics/disk.csv: not visible in environment machine; environment host shows it.",
			"/etc/app/new: read-only in environment machine; environment host may write it.")
		wasTold(t, s, `the environment "machine"`, "/var/log (read-only)", "Local sockets are refused")
	})
	t.Run("host", func(t *testing.T) {
		s := o.story(t, finally("I see."))
		s.over(s.in("host", object{"prompt": s.prompt("go")}), domain.StatusCompleted)
		wasTold(t, s, `the environment "host"`, "run on the host, without isolation, as the user operator")
	})
	t.Run("lending", func(t *testing.T) {
		show := calls("bash", object{"command": `cat $LENT; base64 -w 0 $LENT; cp $LENT kept; sed -n 's/password: //p' $LENT | rev | rev > bare`})
		s := o.story(t, show, calls("read", object{"path": "/run/signoff/LENT"}), func(a *answer, conversation []message) {
			o.write(lent, "server: corp\npassword: "+rotated("two")+"\n", 0o600)
			show(a, conversation)
		}, calls("bash", object{"command": "cat kept bare; echo end"}), calls("bash", object{"command": "echo reads-the-lent-file-''one"}), reports)
		id := s.in("lending", object{"prompt": s.prompt("go"), "safeMode": false})
		s.finds(id, "server: corp\npassword: [masked]\n", "[masked]\nend")
		for _, conversation := range s.requests() {
			for _, m := range conversation {
				if strings.Contains(m.Content, rotated("one")) || strings.Contains(m.Content, rotated("two")) {
					t.Errorf("the model was sent the credential: %s", m.Content)
				}
			}
		}
		wasTold(t, s, `the environment "lending"`, "variables name their files: LENT", "api.corp.example (", "by the proxy only")
	})
	o.kill()
	for _, version := range []string{"one", "two"} {
		must(t, filepath.WalkDir(o.data(), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if bytes.Contains(content, []byte(rotated(version))) {
				t.Errorf("%s holds the credential", filepath.Base(path))
			}
			return err
		}))
	}
}

// wasTold expects texts in the system prompt, which stays the same from request to request.
func wasTold(t *testing.T, s *story, texts ...string) {
	t.Helper()
	requests := s.requests()
	system := requests[0][0].Content
	for _, text := range texts {
		if !strings.Contains(system, text) {
			t.Errorf("%q is not in\n%s", text, system)
		}
	}
	for _, conversation := range requests {
		if conversation[0].Content != system {
			t.Errorf("the system prompt changed to\n%s", conversation[0].Content)
		}
	}
}

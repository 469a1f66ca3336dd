package sandbox

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
)

var someProcesses = []HostProcess{
	{PID: 1, User: "root", State: "S", CPU: 0.1, Memory: 8 << 20, Virtual: 16 << 20, Started: time.Now().Add(-48 * time.Hour), Time: 90 * time.Second, Name: "init", Arguments: "/sbin/init"},
	{PID: 7, PPID: 2, User: "root", State: "I", Name: "kworker/0:1", Started: time.Now()},
	{PID: 42, PPID: 1, User: "postgres", State: "S", CPU: 12.5, Memory: 512 << 20, Started: time.Now(), Time: time.Hour, Name: "postgres", Arguments: "postgres -D /data"},
	{PID: 100, PPID: 42, User: "www", State: "R", CPU: 99, Memory: 64 << 20, Started: time.Now(), Name: "nginx", Arguments: "nginx: worker"},
}

func TestPsOptions(t *testing.T) {
	for args, want := range map[string]string{
		"-e -o pid,comm":                         "PID COMMAND\n  1 init\n  7 kworker/0:1\n 42 postgres\n100 nginx\n",
		"-eo pid=,user= --sort=-rss":             " 42 postgres\n100 www\n  1 root\n  7 root\n",
		"-o pid,args -p 42":                      "PID COMMAND\n 42 postgres -D /data\n",
		"-C nginx -o ppid,%cpu,cmd --no-headers": "42 99.0 nginx: worker\n",
		"-u root -o pid,stat,time --sort=-pid":   "PID STAT     TIME\n  7 I    00:00:00\n  1 S    00:01:30\n",
		"-e -o args --sort=%cpu":                 "COMMAND\n[kworker/0:1]\n/sbin/init\npostgres -D /data\nnginx: worker\n",
		"-o pid,comm -p42,100":                   "PID COMMAND\n 42 postgres\n100 nginx\n",
		"-opid= -o comm= -C init":                "1 init\n",
		"axo pid,ppid --ppid 42":                 "PID PPID\n  1    0\n  7    2\n 42    1\n100   42\n",
		"-o pid= --ppid=42":                      "100\n",
		"-p 42 -C nginx -o pid=":                 " 42\n100\n",
	} {
		if got, err := ps(slices.Clone(someProcesses), strings.Fields(args)); err != nil || got != want {
			t.Errorf("ps %s: %v\n%s", args, err, got)
		}
	}
	for _, args := range []string{"aux", "-ef", "-aux", "auxww", "auxf", "-eF", "axu --sort -%mem"} {
		got, err := ps(slices.Clone(someProcesses), strings.Fields(args))
		if err != nil || strings.Count(got, "\n") != 5 || !strings.Contains(got, "postgres -D /data\n") || !strings.HasPrefix(got, "U") {
			t.Errorf("ps %s: %v\n%s", args, err, got)
		}
	}
	if got, err := ps(slices.Clone(someProcesses), []string{"-p", "4711"}); !errors.Is(err, errNothing) || got != "PID TTY TIME COMMAND\n" {
		t.Errorf("ps of nothing: %v %q", err, got)
	}
	for _, args := range []string{"--forest", "-o pid,secrets", "aux --sort=secrets", "-o", "-p", "-Z"} {
		if got, err := ps(slices.Clone(someProcesses), strings.Fields(args)); err == nil || errors.Is(err, errNothing) {
			t.Errorf("ps %s: %s", args, got)
		}
	}
}

func TestTopOptions(t *testing.T) {
	for args, want := range map[string][]string{
		"": {"100", "42", "1", "7"}, "-b -n 1": {"100", "42", "1", "7"}, "-bn1": {"100", "42", "1", "7"}, "-b -n1 -o %MEM": {"42", "100", "1", "7"}, "-bn1 -o RES": {"42", "100", "1", "7"},
		"-b -p 42,7": {"42", "7"}, "-bn1 -u root": {"1", "7"},
	} {
		got, err := top(slices.Clone(someProcesses), strings.Fields(args))
		var pids []string
		for _, line := range strings.Split(got, "\n")[min(3, strings.Count(got, "\n")):] {
			if fields := strings.Fields(line); len(fields) > 0 {
				pids = append(pids, fields[0])
			}
		}
		if err != nil || !slices.Equal(pids, want) {
			t.Errorf("top %s: %v\n%s", args, err, got)
		}
	}
}

func TestPgrepOptions(t *testing.T) {
	for args, want := range map[string]string{
		"postgres": "42\n", "-x post": "", "-l gres": "42 postgres\n", "-f worker$": "100\n", "-a nginx": "100 nginx: worker\n", "-u root .": "1\n7\n", "-c .": "4\n",
		"-fl :.worker": "100 nginx: worker\n", "-lf -D": "", "-af data": "42 postgres -D /data\n", "-P 42": "100\n", "-uroot": "1\n7\n", "-i POSTGRES": "42\n", "-v -u root .": "42\n100\n",
		"--list-full --full :.worker": "100 nginx: worker\n", "-d , .": "1,7,42,100\n", "--delimiter=: -u root": "1:7\n", "-o .": "1\n", "-xf postgres.*": "42\n",
	} {
		got, err := pgrep(someProcesses, strings.Fields(args))
		if _, isUsage := errors.AsType[usageError](err); (err != nil) != isUsage || isUsage != (args == "-lf -D") || got != want {
			t.Errorf("pgrep %s: %v %q", args, err, got)
		}
	}
	if got, err := pgrep(someProcesses, []string{"-c", "nothing"}); got != "0\n" || !errors.Is(err, errNothing) {
		t.Errorf("%q %v", got, err)
	}
	for _, args := range []string{"", "-Z x", "--secret x", "a b", "(", "-u"} {
		if _, err := pgrep(someProcesses, strings.Fields(args)); err == nil || errors.Is(err, errNothing) {
			t.Errorf("pgrep %s: no error", args)
		}
	}
}

// A command sees the list, and nothing of the processes themselves.
func TestProcessesOfTheHost(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		e := domain.Environment{Name: "app", View: domain.ViewWorkspace, Processes: domain.ProcessesHost}
		output := inView(t, s, folder(t), e, `ps -eo pid=,user= ; pgrep -l nginx; top -b -n 1 | tail -1 | tr -s ' ' | cut -d' ' -f2,3; ps -p 4711 -o pid= || echo none $?; pgrep nosuch; echo $?; pgrep -Z 2>/dev/null; echo $?; ls -d /proc/42 2>/dev/null; kill -0 42 2>/dev/null && echo ESCAPED; ls /proc | grep -c '^[0-9]'`)
		lines := strings.Split(output, "\n")
		want := []string{"  1 root", "  7 root", " 42 postgres", "100 www", "100 nginx", "7 root", "none 1", "1", "2"}
		if len(lines) < len(want) || strings.Join(lines[:len(want)], "\n") != strings.Join(want, "\n") || strings.Contains(output, "ESCAPED") {
			t.Errorf("the command says:\n%s", output)
		}
	})
}

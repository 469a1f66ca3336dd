package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"signoff/test/harness"
)

// operator is a server on a machine of its own, with stand-ins for what the examples of seeds and pages name: an application with its
// configuration and logs, services that listen at local sockets, and behind a private network a cluster, a database and a web shop.
type operator struct {
	*stage
	machine *harness.Machine
}

// newOperator makes the machine and prepares the server; start starts it.
func newOperator(t *testing.T) *operator {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED, only root makes a machine with a network of its own")
	}
	machine, err := harness.NewMachine(t.TempDir())
	must(t, err)
	t.Cleanup(machine.Close)
	o := &operator{stage: &stage{}, machine: machine}
	listener, err := machine.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	o.model = newModelAt(t, listener, o.play)
	o.server = newServer(t, engine{}, o.model, "SIGNOFF_WORKSPACE_ROOT="+runbooks, "SIGNOFF_LOG_LEVEL=warn")
	o.launch = machine.Start
	o.Transport = &http.Transport{DialContext: machine.Dial}
	o.furnish(t)
	return o
}

// runbooks is the workspace: commands of every environment find it, also those that run as another user.
const runbooks = "/data/runbooks"

// furnish makes the stand-ins.
func (o *operator) furnish(t *testing.T) {
	t.Helper()
	for path, content := range operatorFiles {
		o.write(path, content, 0o644)
	}
	for name, script := range operatorPrograms {
		o.write("/usr/local/bin/"+name, "#!/bin/bash\n"+script, 0o755)
	}
	o.write(kubeconfig, "apiVersion: v1\nclusters:\n- cluster: {}\n  server: http://api.corp.example:6443\nusers:\n- name: reader\n  token: "+clusterToken+"\n", 0o600)
	o.write("/etc/signoff/reader.pgpass", "db.corp.example:5432:*:reader:no-more-than-reading\n", 0o600)
	must(t, os.MkdirAll(o.machine.Path(runbooks), 0o755))
	o.join("/etc/passwd", "operator:x:4242:4242::/data/operator:/bin/sh\n")
	o.join("/etc/group", "operator:x:4242:\nadm-docker:x:4243:operator\n")
	must(t, os.MkdirAll(o.machine.Path("/data/operator"), 0o700))
	must(t, os.Chown(o.machine.Path("/data/operator"), 4242, 4242))
	o.runShopd(t)
	o.serveSockets(t)
	o.serveNetwork(t)
}

// write makes a file on the machine, with its folders.
func (o *operator) write(path, content string, mode os.FileMode) {
	o.t.Helper()
	place := o.machine.Path(path)
	must(o.t, os.MkdirAll(filepath.Dir(place), 0o755))
	must(o.t, os.WriteFile(place, []byte(content), mode))
}

// join adds lines to a file of the machine.
func (o *operator) join(path, lines string) {
	o.t.Helper()
	o.write(path, o.content(path)+lines, 0o644)
}

// content reads a file of the machine.
func (o *operator) content(path string) string {
	o.t.Helper()
	content, err := os.ReadFile(o.machine.Path(path))
	must(o.t, err)
	return string(content)
}

const (
	kubeconfig   = "/etc/signoff/readonly.kubeconfig"
	clusterToken = "reads-and-no-more-4f1d9c07"
)

// operatorFiles are the files of the machine.
var operatorFiles = map[string]string{
	"/var/log/app/errors.log": "10:02:11 ERROR pool: connection to localhst refused\n10:07:40 ERROR pool: connection to localhst refused\n",
	"/etc/app/config.yaml":    brokenConfig,
	"/etc/app/secrets/key":    "the key of the application\n",
	"/srv/app/release":        "shop 4.2\n",
	"/data/metrics/disk.csv":  "host,used\nweb1,97\nweb2,41\n",
	"/data/reports/may.md":    "Nothing happened in May.\n",
	"/srv/app/secrets/key":    "the key of the shop\n",
	"/data/agents/README":     "External agents are installed here.\n",
	"/srv/dags/nightly.yaml":  "steps:\n  - name: backup\n    command: backup --keep 3\n    retries: three\n",
	"/etc/shop/config.yaml":   "upstream: shop-v1\n",
	"/var/log/shop/error.log": "upstream shop-v1 is gone, use shop-v2\n",
}

// operatorPrograms are stand-ins of programs. Each does what the real one does with sockets, proxies and files, and no more.
var operatorPrograms = map[string]string{
	// Like client-go, it takes server and token from the file that KUBECONFIG names, and goes by the proxy where one is set.
	"kubectl": `server=$(sed -n 's/^ *server: //p' "$KUBECONFIG") token=$(sed -n 's/^ *token: //p' "$KUBECONFIG")
IFS=/; exec curl -sS --fail-with-body --max-time 20 -H "Authorization: Bearer $token" "$server/$*"`,
	// Like libpq, it knows no proxy, and ignores a file of passwords that others may read.
	"psql": `if [ -n "$PGPASSFILE" ]; then [ "$(stat -c %a "$PGPASSFILE")" -le 600 ] && [ -r "$PGPASSFILE" ] || exit 1; fi
[ "$1" = -h ] && [ "$3" = -c ] && exec 3<>"/dev/tcp/$2/5432" && echo "$4" >&3 && cat <&3`,
	// Like sd-bus and the Docker client, they speak to a local socket.
	"systemctl": `IFS=/; exec curl -sS --fail-with-body --max-time 20 --unix-socket /run/systemd/private "http://systemd/$*"`,
	"docker":    `IFS=/; exec curl -sS --fail-with-body --max-time 20 --unix-socket /var/run/docker.sock "http://docker/$*"`,
	// Like the real one, it reads the files of the journal that its user may read.
	"journalctl": `for file in /run/log/journal/*/system.journal; do [ -r "$file" ] || { echo "No journal files were found." >&2; exit 1; }; done
cat /run/log/journal/*/system.journal`,
	"dagu": `[ "$1" = validate ] && grep -q '^steps:' "$2" && grep -Eq '^ +retries: [0-9]+$' "$2" && echo "$2 is valid"`,
}

// runShopd has the application run, as a process that ps shows.
func (o *operator) runShopd(t *testing.T) {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	must(t, err)
	must(t, o.machine.Do(func() error { return exec.Command("cp", "-L", sleep, "/usr/local/bin/shopd").Run() }))
	process, err := o.machine.Start(exec.Command("/usr/local/bin/shopd", "600"))
	must(t, err)
	t.Cleanup(func() { must(t, process.Kill()) })
}

// serveSockets has the services listen that systemctl and docker speak to, and writes the journal.
func (o *operator) serveSockets(t *testing.T) {
	t.Helper()
	o.write("/run/log/journal/4f2a/system.journal", "app[811]: cannot connect to localhst\n", 0o640)
	state := "failed"
	for path, answers := range map[string]http.HandlerFunc{
		"/run/systemd/private": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/restart/") {
				state = "active"
			}
			fmt.Fprintf(w, "app.service: %s\n", state)
		},
		"/run/docker.sock": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "811 shop:4.2 Up 3 days") },
	} {
		must(t, os.MkdirAll(filepath.Dir(o.machine.Path(path)), 0o755))
		listener, err := o.machine.Listen("unix", path)
		must(t, err)
		serveAt(t, listener, answers)
	}
	for _, path := range []string{"/run/log/journal/4f2a/system.journal", "/run/docker.sock", "/run/systemd/private"} {
		must(t, os.Chown(o.machine.Path(path), 0, 4243))
		must(t, os.Chmod(o.machine.Path(path), 0o660))
	}
	if to, err := os.Readlink("/var/run"); err != nil || to != "/run" && to != "../run" {
		t.Fatalf("/var/run is not a link to /run: %q %v", to, err)
	}
}

// serveNetwork has the private hosts listen, in a network namespace of their own.
func (o *operator) serveNetwork(t *testing.T) {
	t.Helper()
	corp, err := o.machine.Neighbor("10.20.0.1/16", "10.20.0.2/16")
	must(t, err)
	t.Cleanup(corp.Close)
	o.join("/etc/hosts", "10.20.0.2 api.corp.example db.corp.example db.internal web.shop.svc.cluster.local elsewhere.corp.example\n")
	listen := func(port string) net.Listener {
		listener, err := corp.Listen("tcp", "10.20.0.2:"+port)
		must(t, err)
		return listener
	}
	serveAt(t, listen("6443"), http.HandlerFunc(answersKubectl))
	serveAt(t, listen("443"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !strings.Contains(o.content("/etc/shop/config.yaml"), "shop-v2") {
			http.Error(w, "no upstream", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "healthy")
	}))
	database := listen("5432")
	t.Cleanup(func() { database.Close() })
	go serveDatabase(database)
}

// answersKubectl answers a stand-in of kubectl, with a credential that may read and no more.
func answersKubectl(w http.ResponseWriter, r *http.Request) {
	switch path := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); {
	case r.Header.Get("Authorization") != "Bearer "+clusterToken:
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	case path[0] != "get" && path[0] != "describe":
		http.Error(w, "Forbidden: the reader cannot "+path[0], http.StatusForbidden)
	default:
		fmt.Fprintf(w, "%s: shop 2/2 ready\n", strings.Join(path[1:], " "))
	}
}

// serveDatabase answers one line of each connection.
func serveDatabase(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		query, _ := bufio.NewReader(connection).ReadString('\n')
		_, _ = io.WriteString(connection, "(1 row) "+query)
		connection.Close()
	}
}

// environments writes the section of the configuration, with the network that they name.
func (o *operator) environments(content object) {
	o.t.Helper()
	o.section("environments", content)
	o.section("networks", object{"corp": object{
		"hosts": []string{"api.corp.example", "db.corp.example", "db.internal", "*.svc.cluster.local"}, "cidrs": []string{"10.20.0.0/16"}, "ports": []int{443, 6443, 5432},
	}})
}

// shellThere runs a command of a page on the machine, as the operator does.
func (o *operator) shellThere(script string) string {
	o.t.Helper()
	var out harness.Output
	command := exec.Command("bash", "-c", "set -e -o pipefail\n"+script)
	command.Dir, command.Stdout, command.Stderr = o.home, &out, &out
	command.Env = append(o.env, "SIGNOFF_URL="+o.Base, "SIGNOFF_TOKEN="+o.Token)
	process, err := o.machine.Start(command)
	must(o.t, err)
	if !process.End().Success() {
		o.t.Fatalf("%s\n%s", script, out.String())
	}
	return out.String()
}

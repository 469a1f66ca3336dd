//go:build agents && linux

package agents

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"signoff/internal/sandbox"
	"signoff/test/harness"
)

// Provider of the isolated agents: a host of a private network, which leads to the mock.
const (
	provider     = "models.corp.example"
	providerAt   = "10.20.0.2"
	providerPort = "8080"
)

// TestIsolated drives each agent in an environment. Its model is a host of a private network that the environment names, behind a pair of
// virtual devices: nothing but the relay and the proxy of the sandbox leads there.
func TestIsolated(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED, only root makes a machine with a network of its own")
	}
	model := startMock(t)
	machine := machineBeside(t, model)
	agents := must2(harness.Cache())(t)
	for _, a := range table {
		t.Run(a.name, func(t *testing.T) {
			h := newHome(t, a, "")
			for _, installed := range []string{a.installed(t), nodes[runtime.GOARCH].installed(t), agents} {
				must(t, os.Chmod(installed, 0o755)) // the agent runs as another user
			}
			h.fill = strings.NewReplacer("{home}", sandbox.ProcessHome, "{mock}", "http://"+provider+":"+providerPort, "{key}", key)
			write(t, h.folder, a.files, h.fill)
			s := &server{launch: machine.Start}
			s.client.Transport = &http.Transport{DialContext: machine.Dial}
			newServerWith(t, h, s, object{"environment": "agents"}, object{
				"environments": object{"agents": object{
					"view": "machine", "show": []string{agents}, "network": []string{"models"},
				}},
				"networks": object{"models": object{"hosts": []string{provider}, "cidrs": []string{"10.20.0.0/16"}, "ports": []int{8080}}},
			})
			model.forget(t)
			driver := host(t, h, s)
			worksInItsEnvironment(stage{T: t, home: h, conversation: driver, mock: model})
			driver.close()
		})
	}
}

// machineBeside makes a machine that reaches the mock by the provider's name.
func machineBeside(t *testing.T, model mock) *harness.Machine {
	t.Helper()
	machine := must2(harness.NewMachine(t.TempDir()))(t)
	t.Cleanup(machine.Close)
	neighbor := must2(machine.Neighbor("10.20.0.1/16", providerAt+"/16"))(t)
	t.Cleanup(neighbor.Close)
	hosts := machine.Path("/etc/hosts")
	known := must2(os.ReadFile(hosts))(t)
	must(t, os.WriteFile(hosts, append(known, []byte("\n"+providerAt+" "+provider+"\n")...), 0o644))
	listener := must2(neighbor.Listen("tcp", net.JoinHostPort(providerAt, providerPort)))(t)
	t.Cleanup(func() { listener.Close() })
	go carryTo(listener, strings.TrimPrefix(model.base, "http://"))
	return machine
}

// carryTo carries connections to an address of this machine.
func carryTo(listener net.Listener, address string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			upstream, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer upstream.Close()
			go func() { _, _ = io.Copy(upstream, client) }()
			_, _ = io.Copy(client, upstream)
		}()
	}
}

// worksInItsEnvironment: it answers, asks, runs a command of its own, and keeps its session when its process is lost.
func worksInItsEnvironment(s stage) {
	s.isShown()
	s.prompt(plainPrompt)
	s.expect(s.ends(), completed, plainAnswer)
	s.seesItsEnvironment()
	s.prompt(commandPrompt)
	q := s.asks()
	shown := request[struct {
		Isolation   struct{ Name string }
		Environment struct{ Name, Risk string }
	}](s.hosted().server, "GET", "/approvals/"+q.id, nil)
	if shown.Environment.Name != "agents" || shown.Environment.Risk != "machine" || shown.Isolation.Name == "none" {
		s.Errorf("the person is shown %+v", shown)
	}
	s.nothingWritten()
	s.answer(q, true)
	s.expect(s.ends(), completed, commandAnswer)
	if _, err := os.Stat(filepath.Join(s.workspace, written)); err != nil {
		s.Errorf("the approved command has not run: %v", err)
	}
	if s.quirks.ownSandbox {
		s.looksWithoutItsOwnSandbox()
	}
	s.mock.forget(s.T)
	s.hosted().killAgent()
	s.hosted().nothingLeft(time.Now())
	s.prompt(followPrompt)
	s.expect(s.ends(), completed, followAnswer)
	s.remembers(plainPrompt)
}

// looksWithoutItsOwnSandbox: what the agent runs without a question, in a sandbox of its own, works inside of ours, too.
func (s stage) looksWithoutItsOwnSandbox() {
	s.Helper()
	must(s.T, os.WriteFile(filepath.Join(s.workspace, "visible.txt"), []byte("the-content-of-the-file"), 0o644))
	s.mock.forget(s.T)
	s.prompt(lookPrompt)
	s.expect(s.ends(), completed, lookAnswer)
	if asked := s.mock.asked(s.T); !strings.Contains(strings.Join(asked, "\n"), "the-content-of-the-file") {
		last := asked[len(asked)-1]
		result := strings.LastIndex(last, `"role":"tool"`)
		s.Errorf("the agent has not read the file: %.1000s", last[max(0, result):])
	}
}

// isShown looks at the list of agents, and waits until nothing runs that was asked for its version.
func (s stage) isShown() {
	s.Helper()
	agents := request[struct {
		Items []struct {
			Name        string
			Environment *string
		}
	}](s.hosted().server, "GET", "/agents", nil)
	for _, a := range agents.Items {
		if isolated := a.Environment != nil && *a.Environment == "agents"; isolated != (a.Name == s.builtin()) {
			s.Errorf("GET /agents shows %s as isolated: %v", a.Name, isolated)
		}
	}
	s.hosted().nothingLeft(time.Now().Add(leftAlone))
}

// seesItsEnvironment looks at the agent's processes from outside: they have a network and files of their own, and the token is not among these.
func (s stage) seesItsEnvironment() {
	s.Helper()
	server := s.hosted().server
	network := must2(os.Readlink("/proc/" + strconv.Itoa(server.process.PID()) + "/ns/net"))(s.T)
	seen := 0
	for _, p := range running() {
		root := "/proc/" + strconv.Itoa(p.PID)
		program, err := os.Readlink(root + "/exe")
		if err != nil || filepath.Base(program) == "signoff" || filepath.Base(program) == "bwrap" {
			continue // a stage of the sandbox, which guards the agent
		}
		seen++
		if own, err := os.Readlink(root + "/ns/net"); err == nil && own == network {
			s.Errorf("%v has the network of the server", p)
		}
		for _, hidden := range []string{filepath.Join(server.data, "token"), "/etc/shadow"} {
			if content, err := os.ReadFile(root + "/root" + hidden); err == nil && len(content) > 0 {
				s.Errorf("%v sees %s", p, hidden)
			}
		}
	}
	if seen == 0 {
		s.Error("no process of the agent was found")
	}
}

package relay_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"signoff/internal/acp/relay"
)

// TestMain serves as a relay, as main does.
func TestMain(m *testing.M) {
	relay.Intercept(os.Args, os.Environ())
	goleak.VerifyTestMain(m)
}

const secret = "the-servers-secret"

// started runs a server by way of a relay and returns its process, with the reports that came.
func started(t *testing.T, input, command string, args ...string) (process *exec.Cmd, output string, reports chan relay.Report, err error) {
	t.Helper()
	reports = make(chan relay.Report, 10)
	listener, err := relay.Listen(func(report relay.Report) { reports <- report })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Close)
	start := listener.Wrap("probe", command, args, map[string]string{"SECRET": secret, "PATH": "/usr/bin:/bin"})
	process = exec.Command(start.Command, start.Args...)
	for name, value := range start.Env {
		process.Env = append(process.Env, name+"="+value)
	}
	for _, argument := range start.Args {
		if strings.Contains(argument, secret) || strings.Contains(argument, "@") {
			t.Errorf("the argument %q tells something", argument)
		}
	}
	process.Stdin = strings.NewReader(input)
	said, err := process.Output()
	return process, string(said), reports, err
}

func heard(t *testing.T, reports chan relay.Report) relay.Report {
	t.Helper()
	select {
	case report := <-reports:
		return report
	case <-time.After(10 * time.Second):
		t.Fatal("nobody reports")
		return relay.Report{}
	}
}

// TestTheServerIsAlone: behind the relay there is the server and nothing else, with the streams, variables and exit code that
// it would have without.
func TestTheServerIsAlone(t *testing.T) {
	input := string(bytes.Repeat([]byte{0, 1, 2, '\n', 0xff, '\r', '"'}, 100_000))
	process, output, reports, err := started(t, input, "/bin/sh", "-c", `echo "$$ $SECRET ${SIGNOFF_MCP_RELAY-unset}"; for f in /proc/$$/fd/*; do readlink $f; done | grep -c socket; cat; exit 7`)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("it ended with %v", err)
	}
	first, rest, _ := strings.Cut(output, "\n")
	pid, variables, _ := strings.Cut(first, " ")
	if variables != secret+" unset" {
		t.Errorf("its variables are %q", variables)
	}
	if number := process.ProcessState.Pid(); pid != strconv.Itoa(number) {
		t.Errorf("the server is process %s, and the agent has started %d", pid, number)
	}
	files, rest, _ := strings.Cut(rest, "\n")
	if strings.TrimSpace(files) != "0" {
		t.Errorf("it has %s sockets", files)
	}
	if rest != input {
		t.Errorf("%d of %d bytes came back, or others", len(rest), len(input))
	}
	if report := heard(t, reports); report != (relay.Report{Server: "probe"}) {
		t.Errorf("reported: %+v", report)
	}
}

func TestFailureIsReported(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	for command, code := range map[string]int{"/no/such/server": 127, broken: 126, t.TempDir(): 126} {
		_, _, reports, err := started(t, "", command)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != code || !strings.Contains(string(exit.Stderr), "cannot be started") {
			t.Errorf("%s: %v", command, err)
		}
		if report := heard(t, reports); report.Server != "probe" || report.Error == "" {
			t.Errorf("%s: reported: %+v", command, report)
		}
	}
}

// TestNobodyListens: the server starts all the same.
func TestNobodyListens(t *testing.T) {
	listener, err := relay.Listen(func(relay.Report) { t.Error("a report after the end") })
	if err != nil {
		t.Fatal(err)
	}
	start := listener.Wrap("probe", "/bin/echo", []string{"hello"}, nil)
	listener.Close()
	process := exec.Command(start.Command, start.Args...)
	process.Env = []string{"SIGNOFF_MCP_RELAY=" + start.Env["SIGNOFF_MCP_RELAY"]}
	if output, err := process.Output(); string(output) != "hello\n" || err != nil {
		t.Errorf("%q, %v", output, err)
	}
}

// TestStrangers: any program of this machine may connect. What has not the token reports nothing, and holds nothing up.
func TestStrangers(t *testing.T) {
	reports := make(chan relay.Report, 100)
	listener, err := relay.Listen(func(report relay.Report) { reports <- report })
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(listener.Wrap("", "", nil, nil).Env["SIGNOFF_MCP_RELAY"], " ")
	for _, words := range []string{"", "x\n", `{"token":"guess","server":"probe"}` + "\n", strings.Repeat("x", 1<<20), "silent"} {
		connection, err := net.Dial("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = connection.Write([]byte(words)) // it may be refused in the middle
		if words == "silent" {
			defer connection.Close()
			continue
		}
		_ = connection.Close()
	}
	listener.Close()
	if len(reports) > 0 {
		t.Errorf("reported: %+v", <-reports)
	}
}

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"signoff/test/harness"
)

// TestTheFirstStartShowsTheLinkToPeopleOnly: a terminal gets it once; what is kept in a log never has it.
func TestTheFirstStartShowsTheLinkToPeopleOnly(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, quiet))
	screen := s.atTerminal("serve")
	found := screen.link()
	if !strings.Contains(screen.said(), "signoff console --url "+found[1]) {
		t.Errorf("it does not say how to see the link again:\n%s", screen.said())
	}
	s.Base, s.Token = found[1], found[2]
	if response, _ := s.do("GET", "/executions", nil); response.StatusCode != http.StatusOK || s.Token != s.readToken() {
		t.Errorf("the link's token is not the first one: %d", response.StatusCode)
	}
	s.stop()
	if strings.Contains(s.stderr.String(), s.Token) {
		t.Error("the token is in the log")
	}

	again := s.atTerminal("serve")
	s.eventually("the second start", func() bool { return strings.Contains(s.stderr.String(), "signoff console --url") })
	s.stop()
	if all := again.said() + s.stderr.String(); strings.Contains(all, s.Token) {
		t.Errorf("the second start shows the token:\n%s", all)
	}
}

// TestConsoleCommand: the link alone, or what to do where there is none.
func TestConsoleCommand(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, quiet))
	if out, errOut, code := s.command("console", "--url", "http://127.0.0.1:1"); code != 1 || out != "" || !strings.Contains(errOut, "keys create") {
		t.Errorf("before the first start: exit %d, %q, %q", code, out, errOut)
	}
	s.start() // which returns at the first words of the welcome
	s.eventually("the last words of the welcome", func() bool { return strings.Contains(s.stderr.String(), "Stop it with Ctrl-C.") })
	if !strings.Contains(s.stderr.String(), "signoff console --url "+s.Base) || strings.Contains(s.stderr.String(), s.Token) {
		t.Errorf("without a terminal it says:\n%s", s.stderr)
	}
	if out, errOut, code := s.command("console"); code != 2 || out != "" || !strings.Contains(errOut, "--url") {
		t.Errorf("with a port that nobody knows: exit %d, %q, %q", code, out, errOut)
	}
	out, _, code := s.command("console", "--url", s.Base)
	if code != 0 || out != s.Base+"/#token="+s.Token+"\n" {
		t.Fatalf("exit %d, %q", code, out)
	}
	response, page := s.do("GET", "/", nil, headers{"Authorization": "", "Accept": "text/html"})
	if response.StatusCode != http.StatusOK || !regexp.MustCompile(`src="/console/[0-9a-f]{16}/main\.js"`).Match(page) {
		t.Errorf("the link leads to %d\n%s", response.StatusCode, page)
	}
}

// TestDemoInTheBrowser: whoever goes to the console decides there, and it is there until they have seen enough.
func TestDemoInTheBrowser(t *testing.T) {
	t.Parallel()
	s := newServer(t, engine{}, newModel(t, quiet))
	screen := s.atTerminal("demo")
	found := screen.link()
	browser := newClient(t, found[1], found[2])
	screen.waits("[h/b]")
	screen.types("b")
	screen.waits("in the inbox of the console")
	var id string
	for _, e := range want[list[execution]](browser, http.StatusOK, "GET", "/executions", nil).Items {
		id = e.ID
	}
	browser.decide(browser.asked(id, 1)[0])
	screen.waits("until you press Enter")
	if browser.ended(id).Status != "completed" {
		t.Error("it did not complete")
	}
	screen.types("")
	screen.ends()
}

// TestDemoAtATerminal also shows that the console may be faster than the terminal.
func TestDemoAtATerminal(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"alone": false, "beside the console": true} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, engine{}, newModel(t, quiet))
			screen := s.atTerminal("demo")
			found := screen.link()
			screen.waits("[h/b]")
			screen.types("h")
			screen.waits("[y/n]")
			if early {
				browser := newClient(t, found[1], found[2])
				for _, a := range want[list[approval]](browser, http.StatusOK, "GET", "/approvals", nil).Items {
					browser.decide(a, object{"decision": "deny"})
				}
			}
			screen.types("y")
			screen.waits("Where to go next")
			screen.ends()
			if got := strings.Contains(screen.said(), "somebody was faster"); got != early {
				t.Errorf("it says that somebody was faster: %v\n%s", got, screen.said())
			}
		})
	}
}

// screen is a terminal that a command was started at, as a person sees it.
type screen struct {
	s      *server
	keys   *os.File
	output *harness.Output
}

// atTerminal starts a command whose input and output are a terminal. Its errors go where those of the server go.
func (s *server) atTerminal(args ...string) *screen {
	s.t.Helper()
	s.client.t = s.t
	person, program := terminal(s.t)
	screen := &screen{s: s, keys: person, output: &harness.Output{}}
	s.terminal = program
	s.serve(args...)
	s.terminal = nil
	must(s.t, program.Close())
	go func() { _, _ = io.Copy(screen.output, person) }() // to the end of the program
	return screen
}

// terminal is a new one: what is written at one side is read at the other.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = person.Close() })
	must(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	must(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	return person, program
}

func (c *screen) said() string { return c.output.String() }

func (c *screen) waits(text string) {
	c.s.t.Helper()
	c.s.eventually("the words "+text, func() bool { return strings.Contains(c.said(), text) })
}

// link waits for the console's, and returns it with its two parts.
func (c *screen) link() (found []string) {
	c.s.t.Helper()
	c.s.eventually("the link", func() bool {
		found = consoleLink.FindStringSubmatch(c.said())
		return found != nil
	})
	return found
}

func (c *screen) types(line string) {
	c.s.t.Helper()
	_, err := io.WriteString(c.keys, line+"\n")
	must(c.s.t, err)
}

// ends waits for a command that ends by itself.
func (c *screen) ends() {
	c.s.t.Helper()
	c.s.eventually("its end", func() bool { return !c.s.running() })
	if code := c.s.process.End().ExitCode(); code != 0 {
		c.s.t.Errorf("exit %d:\n%s\n%s", code, c.said(), c.s.stderr)
	}
}

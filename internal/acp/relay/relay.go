// Package relay tells whether the MCP servers that an agent was handed have started. The protocol does not say it, and an
// agent that starts none of them looks like one that has no use for them.
//
// # Model
//
// The agent is given this binary in place of the server's program. The binary becomes a relay ([Intercept]): it connects to the
// [Listener] of the agent, says which server it is about to start, and is then replaced by the server's program (execve).
// From there on there is no relay any more: the server has the process, its streams, signals and exit code to itself,
// and nothing is left to be ended. The connection closes with the replacement, by which the listener knows that it
// worked; an error before that is written to it.
//
// An agent in a sandbox gets another relay ([Inside]), because the server runs outside: it stays, and carries the streams between the
// agent and a place on the agent's loopback, behind which the server is started.
//
// # Promises
//
//   - What the agent starts is the server, with the same arguments, variables and streams, whether or not anybody listens.
//   - The relay's arguments are the server's name, program and arguments. The listener's address and what proves the relay
//     to it are in a variable that the server does not get.
//   - The address is an abstract one: there is no file to be left behind.
//
// # Use
//
//	func main() {
//		relay.Intercept(os.Args, os.Environ())
//		…
//	}
//
//	listener, err := relay.Listen(func(report relay.Report) { … })
//	start, err := listener.Wrap("github", "/usr/bin/github-mcp-server", []string{"stdio"}, env)
//	defer listener.Close()
package relay

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	argument    = "mcp-relay" // the first argument of a relay, hidden from the list of sub-commands
	variable    = "SIGNOFF_MCP_RELAY"
	dialTimeout = time.Second
	lineLimit   = 4 << 10
	connections = 64 // at once: what is above is refused, and its server starts without a report
)

// Report is what became of one start of a server.
type Report struct {
	Server string
	Error  string // empty: it has started
}

// Start is how an agent starts a server.
type Start struct {
	Command string
	Args    []string
	Env     map[string]string
}

// Listener hears the relays of one agent.
type Listener struct {
	binary  string
	token   string
	socket  net.Listener
	tell    func(Report)
	serving sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]bool
	closed bool
}

// Listen begins to listen; tell is called for one report or several at once.
func Listen(tell func(Report)) (*Listener, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, err // the file on disk was removed; an agent could not start it
	}
	socket, err := net.Listen("unix", "@signoff-mcp-"+rand.Text())
	if err != nil {
		return nil, err
	}
	l := &Listener{binary: binary, token: rand.Text(), socket: socket, tell: tell, open: map[net.Conn]bool{}}
	l.serving.Go(l.accept)
	return l, nil
}

// Wrap returns what starts a server by way of a relay.
func (l *Listener) Wrap(server, command string, args []string, env map[string]string) Start {
	with := maps.Clone(env)
	if with == nil {
		with = map[string]string{}
	}
	with[variable] = l.socket.Addr().String() + " " + l.token
	return Start{Command: l.binary, Args: append([]string{argument, server, command}, args...), Env: with}
}

// Close ends the listener; when it returns, tell is not called any more.
func (l *Listener) Close() {
	_ = l.socket.Close()
	l.mu.Lock()
	l.closed = true
	for connection := range l.open {
		_ = connection.Close()
	}
	l.mu.Unlock()
	l.serving.Wait()
}

func (l *Listener) accept() {
	for {
		connection, err := l.socket.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of file descriptors, most likely
			time.Sleep(50 * time.Millisecond)
			continue
		}
		l.mu.Lock()
		if l.closed || len(l.open) >= connections {
			_ = connection.Close()
		} else {
			l.open[connection] = true
			l.serving.Go(func() { l.serve(connection) })
		}
		l.mu.Unlock()
	}
}

func (l *Listener) serve(connection net.Conn) {
	report, err := l.read(connection)
	l.mu.Lock()
	delete(l.open, connection)
	closed := l.closed
	l.mu.Unlock()
	_ = connection.Close()
	if err == nil && !closed {
		l.tell(report)
	}
}

// hello is the first line of a relay; the second one comes only where the start has failed, and is the reason.
type hello struct {
	Token  string `json:"token"`
	Server string `json:"server"`
}

var errStranger = errors.New("relay: what has connected is no relay of this agent")

// read hears one relay to its end, which is the start of its server.
func (l *Listener) read(connection net.Conn) (Report, error) {
	lines := bufio.NewReader(io.LimitReader(connection, 2*lineLimit))
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return Report{}, err
	}
	var first hello
	if json.Unmarshal(line, &first) != nil || subtle.ConstantTimeCompare([]byte(first.Token), []byte(l.token)) != 1 {
		return Report{}, errStranger
	}
	reason, err := io.ReadAll(lines)
	if err != nil {
		return Report{}, err
	}
	return Report{Server: first.Server, Error: strings.TrimSpace(string(reason))}, nil
}

// Intercept is the entry point of a relay: main calls it first, with the process's arguments and environment. It returns
// at once in a process that was not started as one, and never in one that was.
func Intercept(args, env []string) {
	if len(args) < 2 || args[1] != argument {
		return
	}
	if len(args) < 4 {
		fmt.Fprintln(os.Stderr, "signoff: this argument is for internal use")
		os.Exit(2)
	}
	os.Exit(become(args[2], args[3:], env))
}

// become turns the process into the server, and returns only where that fails: with the exit code of a shell that
// could not run a program.
func become(server string, argv, env []string) int {
	env, address, token := takeAddress(env)
	if address == Place {
		return carry(server, token)
	}
	report := io.Discard
	dialer := net.Dialer{Timeout: dialTimeout}
	if connection, err := dialer.DialContext(context.Background(), "unix", address); err == nil { // closed by execve, or by the exit
		_ = connection.SetWriteDeadline(time.Now().Add(dialTimeout))
		report = connection
	}
	line, _ := json.Marshal(hello{Token: token, Server: server})
	_, _ = report.Write(append(line, '\n'))
	err := syscall.Exec(argv[0], argv, env)
	_, _ = fmt.Fprintln(report, err)
	fmt.Fprintf(os.Stderr, "signoff: %s cannot be started: %v\n", argv[0], err)
	if errors.Is(err, os.ErrNotExist) {
		return 127
	}
	return 126
}

// takeAddress takes the address and the token of the listener out of an environment.
func takeAddress(env []string) (rest []string, address, token string) {
	for _, line := range env {
		if value, of := strings.CutPrefix(line, variable+"="); of {
			address, token, _ = strings.Cut(value, " ")
		} else {
			rest = append(rest, line)
		}
	}
	return rest, address, token
}

package acp

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"

	"signoff/internal/acp/relay"
	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/sandbox/stdio"
)

// outside runs the MCP servers of an agent in a sandbox. They are the operator's programs, with files, hosts and variables of their own that
// the agent must not have: so the agent is given a relay in place of each program, and the program runs out here. All methods may be
// called by several goroutines at once.
type outside struct {
	life    context.Context // ends with the agent
	start   func(ctx context.Context, process sandbox.Process) (*sandbox.Child, error)
	process sandbox.Process // of each server, without its program
	tell    func(domain.AgentMCPServerUpdated)
	stderr  func([]byte) // hears what servers write beside the protocol; nil: nobody

	mu      sync.Mutex
	waiting map[string]mcp.Endpoint // by the token that starts it, once
	running sync.WaitGroup
}

// wrap returns how the agent starts a server.
func (o *outside) wrap(server mcp.Endpoint) relay.Start {
	token := rand.Text()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		o.waiting = map[string]mcp.Endpoint{}
	}
	o.waiting[token] = server
	return relay.Inside(sandbox.OwnProgram, server.Name, token)
}

// take spends a token: a command that the agent runs could find it in the relay's variables, and must not use it again.
func (o *outside) take(token string) (server mcp.Endpoint, valid bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	server, valid = o.waiting[token]
	delete(o.waiting, token)
	if valid {
		o.running.Add(1)
	}
	return server, valid
}

// helloTimeout is how long a relay may take to say which server it is about.
const helloTimeout = 5 * time.Second

// serve takes a connection from inside, and returns when its server has ended. The sandbox closes the connection when the agent is dead.
func (o *outside) serve(connection io.ReadWriteCloser) {
	defer connection.Close()
	late := time.AfterFunc(helloTimeout, func() { connection.Close() })
	_, token, input, err := relay.ReadHello(connection)
	if !late.Stop() || err != nil {
		return
	}
	server, valid := o.take(token)
	if !valid {
		return
	}
	defer o.running.Done()
	if err := o.run(server, connection, input); err != nil {
		o.tell(domain.AgentMCPServerUpdated{Server: server.Name, Status: domain.MCPServerFailed, Message: "Its program cannot be started: " + domain.FailureOf(err).Message})
	}
}

// run is the life of a server.
func (o *outside) run(server mcp.Endpoint, connection io.Writer, input io.Reader) error {
	process := o.process
	process.Argv = append([]string{server.Command}, server.Args...)
	for name, value := range server.Env {
		process.Env = append(process.Env[:len(process.Env):len(process.Env)], name+"="+value)
	}
	child, err := o.start(o.life, process)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(o.life, child.Kill)
	defer stop()
	o.tell(domain.AgentMCPServerUpdated{Server: server.Name, Status: domain.MCPServerStarted})
	running := stdio.Attend(child, "The program of the MCP server "+server.Name, o.stderr)
	go func() {
		_, _ = io.Copy(child.Stdin, input) // it ends with the agent, or with the relay
		_ = running.End()
	}()
	_, _ = io.Copy(connection, child.Stdout)
	_ = child.Stdout.Close()
	_ = running.End()
	running.Drain()
	return nil
}

// close waits for the ends of all servers, whose life is over.
func (o *outside) close() error {
	ended := make(chan struct{})
	go func() {
		o.running.Wait()
		close(ended)
	}()
	if !stdio.Within(stdio.KillGrace, ended) {
		return errors.New("acp: an MCP server cannot be killed")
	}
	return nil
}

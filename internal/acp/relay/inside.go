package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

// Place is where relays of an agent in a sandbox find the server's side. It has an address inside, and leads nowhere else.
const Place = "mcp.signoff:1"

// Inside returns what an agent in a sandbox starts in place of a program that runs outside: a relay that stays, and carries the
// program's streams to [Place]. The token proves to the other side which server is meant. binary is this program, as the agent finds it.
func Inside(binary, server, token string) Start {
	return Start{Command: binary, Args: []string{argument, server, Place}, Env: map[string]string{variable: Place + " " + token}}
}

// ErrNoHello says that what has connected does not speak as a relay does.
var ErrNoHello = errors.New("relay: no relay has connected")

// ReadHello reads what a relay inside says first. The rest of what it sends, which is what the agent writes to the server, comes from input.
func ReadHello(connection io.Reader) (server, token string, input io.Reader, err error) {
	lines := bufio.NewReaderSize(connection, lineLimit)
	line, err := lines.ReadSlice('\n')
	if err != nil {
		return "", "", nil, errors.Join(ErrNoHello, err)
	}
	var first hello
	if json.Unmarshal(line, &first) != nil {
		return "", "", nil, ErrNoHello
	}
	return first.Server, first.Token, lines, nil
}

// carry is the life of a relay inside. It ends with the server's output.
func carry(server, token string) int {
	dialer := net.Dialer{Timeout: dialTimeout}
	connection, err := dialer.DialContext(context.Background(), "tcp", Place)
	if err != nil {
		fmt.Fprintf(os.Stderr, "signoff: the MCP server %s cannot be reached: %v\n", server, err)
		return 1
	}
	line, _ := json.Marshal(hello{Token: token, Server: server})
	if _, err := connection.Write(append(line, '\n')); err != nil {
		fmt.Fprintf(os.Stderr, "signoff: the MCP server %s cannot be reached: %v\n", server, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(connection, os.Stdin)
		if tcp, ok := connection.(*net.TCPConn); ok {
			_ = tcp.CloseWrite() // the end of the server's input; its output may go on
		}
	}()
	said, err := io.Copy(os.Stdout, connection)
	if err != nil || said == 0 {
		fmt.Fprintf(os.Stderr, "signoff: the MCP server %s has ended, or was not started: each start of the agent may start it once\n", server)
		return 1
	}
	return 0
}

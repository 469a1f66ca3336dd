package http

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"signoff/internal/domain"
)

// A request that net/http cannot read, such as one with a broken escape in its path, does not get to any handler: net/http answers it
// with a line of text, written to the connection in one piece. A client of this API reads problems, so the connection puts one in its place.

// problemListener accepts connections on which such answers are problems.
type problemListener struct {
	net.Listener
	server *Server
}

func (l problemListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if tcp, is := accepted.(*net.TCPConn); is {
		return problemConn{tcp, l.server}, nil
	}
	return accepted, err
}

// problemConn is a TCP connection in all but the one write: it can be taken over, and writes several buffers at once.
type problemConn struct {
	*net.TCPConn
	server *Server
}

func (c problemConn) Write(data []byte) (int, error) {
	answer, is := c.server.unreadable(data)
	if !is {
		return c.TCPConn.Write(data)
	}
	if _, err := c.TCPConn.Write(answer); err != nil {
		return 0, err
	}
	return len(data), nil
}

var (
	statusLine = []byte("HTTP/1.1 ")
	// textHeaders are all headers of such an answer, and of no other: ours have a request id.
	textHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
)

// unreadable returns the problem that takes the place of an answer of net/http to a request that it could not read. What it says with
// a 5xx is a mistake of the client, too.
func (s *Server) unreadable(answer []byte) (problem []byte, is bool) {
	if !bytes.HasPrefix(answer, statusLine) {
		return nil, false
	}
	end := bytes.IndexByte(answer, '\r')
	if end < 0 || !bytes.HasPrefix(answer[end:], textHeaders) {
		return nil, false
	}
	err := malformed("The request cannot be read: its line, its URL or its headers are not well-formed HTTP.")
	if bytes.HasPrefix(answer[len(statusLine):], []byte(strconv.Itoa(http.StatusRequestHeaderFieldsTooLarge))) {
		err = domain.Errorf(codeHeadersTooLarge, "The headers may have %d bytes.", maxHeaders)
	}
	id := uuid.Must(uuid.NewV7()).String()
	said := newProblem(err, id, s.masker.MaskString)
	body, failed := json.Marshal(said)
	if failed != nil {
		return nil, false
	}
	s.log.Info("request that cannot be read", "requestId", id, "status", said.Status)
	header := http.Header{}
	secure(header, id)
	header.Set("Content-Type", "application/problem+json")
	header.Set("Content-Length", strconv.Itoa(len(body)+1))
	header.Set("Connection", "close")
	var text bytes.Buffer
	text.WriteString("HTTP/1.1 " + strconv.Itoa(said.Status) + " " + http.StatusText(said.Status) + "\r\n")
	if header.Write(&text) != nil {
		return nil, false
	}
	text.WriteString("\r\n")
	text.Write(append(body, '\n'))
	return text.Bytes(), true
}

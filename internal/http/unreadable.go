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
// with a line of text, written to the connection in one piece. It answers an Expect header that it does not know with 417 and no text. A
// client of this API reads problems, so the connection puts one in the place of both.

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
	statusLine    = []byte("HTTP/1.1 ")
	oldStatusLine = []byte("HTTP/1.0 ") // to a client of HTTP/1.0
	// textHeaders are all headers of such an answer, and of no other: ours have a request id.
	textHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	// noText is how the answer to an unknown Expect header ends.
	noText = []byte("\r\nContent-Length: 0\r\n\r\n")
)

// refusal returns the error that an answer of net/http means to a request that it refused by itself; nil for every other answer. What it
// says with a 5xx is a mistake of the client, too.
func refusal(answer []byte) error {
	status, is := bytes.CutPrefix(answer, statusLine)
	if !is {
		status, is = bytes.CutPrefix(answer, oldStatusLine)
	}
	end := bytes.IndexByte(status, '\r')
	if !is || end < 0 {
		return nil
	}
	begins := func(code int) bool { return bytes.HasPrefix(status, []byte(strconv.Itoa(code)+" ")) }
	switch {
	case begins(http.StatusExpectationFailed) && bytes.HasSuffix(status, noText): // no handler answers with it
		return domain.Errorf(domain.CodeMalformed, "The Expect header can only be 100-continue.")
	case !bytes.HasPrefix(status[end:], textHeaders):
		return nil
	case begins(http.StatusRequestHeaderFieldsTooLarge):
		return domain.Errorf(codeHeadersTooLarge, "The headers may have %d bytes.", maxHeaders)
	}
	return domain.Errorf(domain.CodeMalformed, "The request cannot be read: its line, its URL or its headers are not well-formed HTTP.")
}

// unreadable returns the problem that takes the place of an answer of net/http to a request that it refused by itself.
func (s *Server) unreadable(answer []byte) (problem []byte, is bool) {
	err := refusal(answer)
	if err == nil {
		return nil, false
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

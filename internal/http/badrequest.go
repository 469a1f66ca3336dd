package http

import (
	"bytes"
	"net"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"signoff/internal/domain"
)

// net/http responds by itself to a request that it cannot read, such as one with a broken escape in its path: it writes a line of text to the
// connection in one piece. To an unknown Expect header it responds with 417 and no text. Clients of this API expect problems, so the
// connection replaces both responses by a problem.

// problemListener accepts connections that replace such responses.
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

// problemConn is a TCP connection in all other respects: it can be hijacked, and writes several buffers at once.
type problemConn struct {
	*net.TCPConn
	server *Server
}

func (c problemConn) Write(data []byte) (int, error) {
	err := refusal(data)
	if err == nil {
		return c.TCPConn.Write(data)
	}
	if _, err := c.TCPConn.Write(c.server.badRequest(err)); err != nil {
		return 0, err
	}
	return len(data), nil
}

var (
	statusLine    = []byte("HTTP/1.1 ")
	oldStatusLine = []byte("HTTP/1.0 ") // to a client of HTTP/1.0
	// textHeaders are all headers of such a response. Our responses also have a request id.
	textHeaders = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	// noText ends the response to an unknown Expect header.
	noText = []byte("\r\nContent-Length: 0\r\n\r\n")
)

// refusal returns the error for which net/http has written a response by itself, and nil for every other response. A 5xx of net/http is a
// mistake of the client, too.
func refusal(response []byte) error {
	status, is := bytes.CutPrefix(response, statusLine)
	if !is {
		status, is = bytes.CutPrefix(response, oldStatusLine)
	}
	end := bytes.IndexByte(status, '\r')
	if !is || end < 0 {
		return nil
	}
	begins := func(code int) bool { return bytes.HasPrefix(status, []byte(strconv.Itoa(code)+" ")) }
	switch {
	case begins(http.StatusExpectationFailed) && bytes.HasSuffix(status, noText): // no handler responds with it
		return domain.Errorf(domain.CodeMalformed, "The Expect header can only be 100-continue.")
	case !bytes.HasPrefix(status[end:], textHeaders):
		return nil
	case begins(http.StatusRequestHeaderFieldsTooLarge):
		return domain.Errorf(codeHeadersTooLarge, "The headers may have %d bytes.", maxHeaders)
	}
	return domain.Errorf(domain.CodeMalformed, "The request cannot be read: its line, its URL or its headers are not well-formed HTTP.")
}

// badRequest returns the response with a problem for err.
func (s *Server) badRequest(err error) []byte {
	id := uuid.Must(uuid.NewV7()).String()
	problem := newProblem(err, id, s.masker.MaskString)
	s.log.Info("request that cannot be read", "requestId", id, "status", problem.Status)
	body := append(domain.Encode(problem), '\n')
	header := http.Header{}
	secure(header, id)
	header.Set("Content-Type", "application/problem+json")
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Connection", "close")
	var text bytes.Buffer
	text.WriteString("HTTP/1.1 " + strconv.Itoa(problem.Status) + " " + http.StatusText(problem.Status) + "\r\n")
	_ = header.Write(&text) // a buffer takes all
	text.WriteString("\r\n")
	text.Write(body)
	return text.Bytes()
}

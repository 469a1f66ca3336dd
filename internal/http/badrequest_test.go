package http

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Whatever is wrong with a request, and whoever finds it, the answer is a problem, and never a 5xx.
func TestRequestsThatCannotBeReadGetProblems(t *testing.T) {
	_, _, address := serving(t)
	host := "Host: " + address + "\r\n"
	for name, request := range map[string]string{
		"a broken escape in the path":  "GET /executions/%zz HTTP/1.1\r\n" + host + "\r\n",
		"half an escape in the path":   "GET /executions/% HTTP/1.1\r\n" + host + "\r\n",
		"a broken escape in the query": "GET /executions?cursor=%zz HTTP/1.1\r\n" + host + "\r\n",
		"a semicolon in the query":     "GET /executions?a;b HTTP/1.1\r\n" + host + "\r\n",
		"an escaped NUL":               "GET /executions/%00 HTTP/1.1\r\n" + host + "\r\n",
		"a control character":          "GET /\x01 HTTP/1.1\r\n" + host + "\r\n",
		"a blank in the path":          "GET /a b HTTP/1.1\r\n" + host + "\r\n",
		"no path":                      "GET HTTP/1.1\r\n" + host + "\r\n",
		"no slash":                     "GET executions HTTP/1.1\r\n" + host + "\r\n",
		"a star":                       "GET * HTTP/1.1\r\n" + host + "\r\n",
		"dots":                         "GET /../../etc/passwd HTTP/1.1\r\n" + host + "\r\n",
		"two slashes":                  "GET //executions HTTP/1.1\r\n" + host + "\r\n",
		"a URL with a broken port":     "GET http://a:b/ HTTP/1.1\r\n" + host + "\r\n",
		"no host":                      "GET /healthz HTTP/1.1\r\n\r\n",
		"two hosts":                    "GET /healthz HTTP/1.1\r\n" + host + host + "\r\n",
		"a host that is none":          "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
		"a host with a broken escape":  "GET /healthz HTTP/1.1\r\nHost: %zz\r\n\r\n",
		"a foreign host":               "GET /healthz HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"no HTTP":                      "hello\r\n\r\n",
		"another protocol":             "GET / FTP/1.1\r\n" + host + "\r\n",
		"a version that there is not":  "GET / HTTP/3.7\r\n" + host + "\r\n",
		"a method that is none":        "G(T / HTTP/1.1\r\n" + host + "\r\n",
		"a header without a colon":     "GET /healthz HTTP/1.1\r\n" + host + "hello\r\n\r\n",
		"a header with a blank":        "GET /healthz HTTP/1.1\r\n" + host + "a b: c\r\n\r\n",
		"a value with a NUL":           "GET /healthz HTTP/1.1\r\n" + host + "a: \x00\r\n\r\n",
		"a length that is none":        "POST /executions HTTP/1.1\r\n" + host + "Content-Length: ten\r\n\r\n",
		"two lengths":                  "POST /executions HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"an encoding that is none":     "POST /executions HTTP/1.1\r\n" + host + "Transfer-Encoding: rot13\r\n\r\n",
		"an expectation that is none":  "GET /healthz HTTP/1.1\r\n" + host + "Expect: foo\r\n\r\n",
		"the same with a body":         "POST /executions HTTP/1.1\r\n" + host + "Expect: foo\r\nContent-Length: 2\r\n\r\n{}",
		"the same in HTTP/1.0":         "GET /healthz HTTP/1.0\r\n" + host + "Expect: foo\r\n\r\n",
		"headers without an end":       "GET /healthz HTTP/1.1\r\n" + host + strings.Repeat("a: "+strings.Repeat("b", 1000)+"\r\n", 200) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", address)
			must(t, err)
			defer conn.Close()
			must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			_, _ = io.WriteString(conn, request) // the answer may come, and the connection end, before all is sent
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			must(t, err)
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			must(t, err)
			var problem struct{ Code, RequestID string }
			must(t, json.Unmarshal(body, &problem))
			if response.StatusCode < 400 || response.StatusCode >= 500 || response.Header.Get("Content-Type") != "application/problem+json" ||
				problem.Code == "" || problem.RequestID == "" || problem.RequestID != response.Header.Get("X-Request-Id") {
				t.Errorf("%s %v %s", response.Status, response.Header, body)
			}
		})
	}
}

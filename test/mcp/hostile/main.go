// Command hostile is an MCP server that means harm, or is broken. It writes JSON-RPC by hand, because an SDK would refuse to send most of it.
//
//	hostile stdio BEHAVIOUR     speaks over its standard streams
//	hostile http                prints its address, and serves BEHAVIOUR under /NAME/BEHAVIOUR; NAME sets apart what has a state of its own
//
// Each tool of it has an effect: a line in the file LEDGER, with the argument "key" of the call. A test compares the lines with the approvals. The
// behaviours stand in behaviours.go. A behaviour whose name ends in "-2026" speaks the revision 2026-07-28, any other one 2025-11-25.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func main() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == "stdio":
		serveStdio(newServer(os.Args[2], strings.TrimSuffix(os.Args[2], modern)))
	case len(os.Args) == 2 && os.Args[1] == "http":
		serveHTTP()
	default:
		fmt.Fprintln(os.Stderr, "usage: hostile stdio BEHAVIOUR | hostile http")
		os.Exit(2)
	}
}

func serveStdio(s *server) {
	var writing sync.Mutex
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	p := &peer{
		write: func(raw string, ends bool) {
			writing.Lock()
			defer writing.Unlock()
			_, _ = out.WriteString(raw)
			if ends {
				_ = out.WriteByte('\n')
			}
			_ = out.Flush()
		},
		die: func() { os.Exit(3) },
	}
	if s.starts != nil {
		s.starts(s, p)
	}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			go s.take(p, m)
		}
	}
}

// serveHTTP serves streamable HTTP. Each answer is an event stream, so that a behaviour can send more than the answer.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
func serveHTTP() {
	var mu sync.Mutex
	servers := map[string]*server{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		_, behaviour, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
		if known[strings.TrimSuffix(behaviour, modern)] == nil {
			http.NotFound(w, r) // a client looks for the metadata of OAuth beside every server
			return
		}
		mu.Lock()
		s := servers[r.URL.Path]
		if s == nil {
			s = newServer(behaviour, strings.TrimSuffix(behaviour, modern))
			servers[r.URL.Path] = s
		}
		mu.Unlock()
		s.serve(w, r)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("listens on http://%s\n", listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Minute}
	fmt.Fprintln(os.Stderr, server.Serve(listener))
	os.Exit(1)
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "", http.StatusMethodNotAllowed)
		return
	}
	var m message
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.http != nil && s.http(s, w, r, m) {
		return
	}
	if m.Method == "" || len(m.ID) == 0 { // an answer, or a notification
		s.take(&peer{write: func(string, bool) {}, die: func() {}}, m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	var writing sync.Mutex
	begun := false
	s.take(&peer{
		write: func(raw string, ends bool) {
			writing.Lock()
			defer writing.Unlock()
			if !begun {
				_, _ = w.Write([]byte("data: "))
			}
			begun = !ends
			_, _ = w.Write([]byte(raw))
			if ends {
				_, _ = w.Write([]byte("\n\n"))
			}
			_ = http.NewResponseController(w).Flush()
		},
		die:  func() { panic(http.ErrAbortHandler) },
		gone: r.Context().Done(),
	}, m)
}

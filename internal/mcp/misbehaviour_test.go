package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp/wire"
)

// theCall is the call of the tool of [oneTool].
func theCall(t testing.TB) Call {
	read := definitions{}
	read.add("s", json.RawMessage(`{"name":"t","description":"d","inputSchema":{"type":"object"}}`), map[string]bool{"t": true})
	return Call{Server: "s", Tool: "t", Definition: read.tools[0].Definition, Arguments: json.RawMessage(`{}`)}
}

// TestTheEndOfAProgramInEachPhase looks at what a call becomes that a program dies in, never answers, or refuses.
func TestTheEndOfAProgramInEachPhase(t *testing.T) {
	for _, row := range []struct {
		method, answer string
		want           domain.Code
		starts         int // how often the program was started
		sent           int // how often the call was
	}{
		{"server/discover", death, "", 2, 1}, // it is greeted in the way of the older revisions
		{"server/discover", silence, "", 1, 1},
		{"server/discover", failing, "", 1, 1},
		{"initialize", death, domain.CodeMCPServerUnavailable, 1, 0},
		{"initialize", silence, domain.CodeMCPServerUnavailable, 1, 0},
		{"initialize", failing, domain.CodeMCPServerUnavailable, 1, 0},
		{"initialize", `{"protocolVersion":"1999-01-01","capabilities":{}}`, domain.CodeMCPServerUnavailable, 1, 0},
		{"initialize", `[]`, domain.CodeMCPServerUnavailable, 1, 0},
		{"tools/list", death, domain.CodeMCPServerUnavailable, 2, 0}, // reading once more does no harm
		{"tools/list", silence, domain.CodeMCPServerUnavailable, 1, 0},
		{"tools/list", failing, domain.CodeMCPServerUnavailable, 1, 0},
		{"tools/list", `{"tools":7}`, domain.CodeMCPServerUnavailable, 1, 0},
		{"tools/list", `{"tools":[null,7,{},{"name":""},{"name":"a\u202eb"}]}`, domain.CodeDefinitionChanged, 1, 0},
		{"tools/call", death, domain.CodeOutcomeUnknown, 1, 1},
		{"tools/call", silence, domain.CodeOutcomeUnknown, 1, 1},
		{"tools/call", failing, domain.CodeToolFailed, 1, 1},
		{"tools/call", `7`, domain.CodeToolFailed, 1, 1},
		{"tools/call", `{"resultType":"task","taskId":"1"}`, domain.CodeToolFailed, 1, 1},
		{"tools/call", `{"content":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, domain.CodeToolFailed, 1, 1},
		{"tools/list", `{"tools":[7,` + strings.TrimPrefix(oneTool, `{"tools":[`), "", 1, 1}, // one strange tool does not hide the others
		{"tools/list", `{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}},{"name":"t","description":"another"}]}`, "", 1, 1},
	} {
		t.Run(row.method+" "+fmt.Sprintf("%.30s", row.answer), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: map[string]func(json.RawMessage) string{row.method: says(row.answer)}}
				if row.method == "initialize" || row.method == "server/discover" {
					s.revision = revisionLegacy
				}
				session, programs := played(t, stdioServer, s)
				began := time.Now()
				_, err := session.Call(t.Context(), theCall(t))
				if code := domain.CodeOf(err); err != nil && code != row.want || err == nil && row.want != "" {
					t.Errorf("%v", err)
				}
				if programs.starts() != row.starts || s.count("tools/call") != row.sent {
					t.Errorf("%d starts, %d calls", programs.starts(), s.count("tools/call"))
				}
				if took := time.Since(began); took > DefaultStartTimeout+DefaultCallTimeout {
					t.Errorf("it took %s", took)
				}
				if err := session.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAProgramEndsAfterItsStreams has the rest of the program end later than what it says. The SDK waits for it behind a mutex, where the time of a bubble
// stands still.
func TestAProgramEndsAfterItsStreams(t *testing.T) {
	s := &script{revision: revisionLegacy, answers: map[string]func(json.RawMessage) string{"server/discover": says(death)}}
	programs := &programs{run: s.run, lingers: 20 * time.Millisecond}
	session := opened(t, stdioServer, programs)
	if _, err := session.Call(t.Context(), theCall(t)); err != nil || programs.starts() != 2 {
		t.Errorf("%v after %d starts", err, programs.starts())
	}
}

// TestListsThatAreTooMuch has servers whose lists have no end, in every direction.
func TestListsThatAreTooMuch(t *testing.T) {
	n := 0
	page := func(tools int, description, cursor string) string {
		var all []string
		for range tools {
			n++
			all = append(all, fmt.Sprintf(`{"name":"t%d","description":%q,"inputSchema":{"type":"object"}}`, n, description))
		}
		return fmt.Sprintf(`{"tools":[%s],"nextCursor":%q}`, strings.Join(all, ","), cursor)
	}
	for want, list := range map[string]func(json.RawMessage) string{
		"does not end":         func(json.RawMessage) string { n++; return page(0, "", fmt.Sprint(n)) },
		"does not end.":        says(page(1, "", "again")),
		"more than 256 tools":  func(json.RawMessage) string { return page(20, "", fmt.Sprint(n)) },
		"more than 256 tools.": says(page(257, "", "")),
		"more than 256 KiB":    says(page(1, strings.Repeat("x", 300<<10), "")),
		"more than 256 KiB.":   func(json.RawMessage) string { return page(1, strings.Repeat("x", 10<<10), fmt.Sprint(n)) },
		"more than 16 MiB":     says(page(1, strings.Repeat("x", 17<<20), "")),
		"cannot be read":       says(`{"tools":{}}`),
		"cannot be read.":      says(`{"nextCursor":7}`),
		"more than 64 levels":  says(strings.Repeat(`{"tools":`, 100) + "1" + strings.Repeat("}", 100)),
		"HTTP":                 nil,
	} {
		if list == nil {
			continue
		}
		t.Run(want, func(t *testing.T) {
			server := stdioServer
			server.Required = true
			session, _ := played(t, server, &script{answers: map[string]func(json.RawMessage) string{"tools/list": list}})
			_, err := session.Tools(t.Context())
			if domain.CodeOf(err) != domain.CodeMCPServerUnavailable || !strings.Contains(err.Error(), strings.TrimSuffix(want, ".")) {
				t.Errorf("%.300v", err)
			}
		})
	}
}

// TestGarbageOnStandardOutput has programs that print what they like.
func TestGarbageOnStandardOutput(t *testing.T) {
	t.Run("a greeting", func(t *testing.T) {
		s := &script{}
		session := opened(t, stdioServer, &programs{run: func(streams io.ReadWriteCloser) {
			_, _ = io.WriteString(streams, "Welcome!\n\n{\"level\":\"info\"}\n[1]\n[\n\x00\xff\n")
			s.run(streams)
		}})
		if _, err := session.Call(t.Context(), theCall(t)); err != nil {
			t.Error(err)
		}
	})
	for name, piece := range map[string]string{
		"a line without an end":     strings.Repeat("x", 64<<10),
		"lines without an end":      strings.Repeat("x", 1000) + "\n",
		"an answer without an end":  `{"jsonrpc":"2.0","id":1,"result":{"tools":["` + strings.Repeat("x", 64<<10),
		"half a line, and its end.": "",
	} {
		t.Run(name, func(t *testing.T) {
			taken := 0
			session := opened(t, Server{Command: "server", StartTimeout: 20 * time.Second}, &programs{run: func(streams io.ReadWriteCloser) {
				if piece == "" {
					_, _ = io.WriteString(streams, `{"jsonrpc":"2.0","id":1,"resu`)
					return
				}
				go func() { _, _ = io.Copy(io.Discard, streams) }()
				for {
					n, err := io.WriteString(streams, piece)
					if taken += n; err != nil {
						return
					}
				}
			}})
			began := time.Now()
			_, err := session.Call(t.Context(), theCall(t))
			if domain.CodeOf(err) != domain.CodeMCPServerUnavailable || time.Since(began) > 15*time.Second {
				t.Error(err)
			}
			session.Close()
			if taken > 3*wire.MaxAnswerBytes {
				t.Errorf("%d bytes were read", taken)
			}
		})
	}
}

// TestALargeAnswer is a result of 50 MB. It is an error, and the next call finds a new program.
func TestALargeAnswer(t *testing.T) {
	large := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 50<<20) + `"}]}`
	s := &script{answers: map[string]func(json.RawMessage) string{"tools/call": first(large, `{"content":[{"type":"text","text":"small"}]}`)}}
	session, programs := played(t, stdioServer, s)
	_, err := session.Call(t.Context(), theCall(t))
	if domain.CodeOf(err) != domain.CodeToolFailed || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Fatalf("%.300v", err)
	}
	answer, err := session.Call(t.Context(), theCall(t))
	if err != nil || answer.Result.Text != "small" || programs.starts() != 2 || s.count("tools/call") != 2 {
		t.Errorf("%+v, %v", answer, err)
	}
	if again := session.Restarted(); len(again) != 1 || again[0] != "s" || session.Restarted() != nil {
		t.Errorf("restarted: %v", again)
	}
}

// TestALargeAnswerToOneOfMany ends the connection, and nobody knows whose answer it was.
func TestALargeAnswerToOneOfMany(t *testing.T) {
	s := &script{}
	waiting := make(chan struct{}, 2)
	s.answers = map[string]func(json.RawMessage) string{"tools/call": func(json.RawMessage) string {
		if waiting <- struct{}{}; len(waiting) < 2 {
			return silence
		}
		return `{"content":[{"type":"text","text":"` + strings.Repeat("x", 17<<20) + `"}]}`
	}}
	session, _ := played(t, stdioServer, s)
	results := make(chan error)
	for range 2 {
		go func() {
			_, err := session.Call(t.Context(), theCall(t))
			results <- err
		}()
	}
	for range 2 {
		if err := <-results; domain.CodeOf(err) != domain.CodeOutcomeUnknown {
			t.Error(err)
		}
	}
}

// TestAnswersToNobody has a server answer requests that were never made, and twice those that were.
func TestAnswersToNobody(t *testing.T) {
	s := &script{}
	s.answers = map[string]func(json.RawMessage) string{"tools/call": func(json.RawMessage) string {
		for id := range 50 {
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"lie"}}`, id+100))
			s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","result":{}}`, id))
		}
		return `{"content":[{"type":"text","text":"true"}]}`
	}}
	session, _ := played(t, stdioServer, s)
	if answer, err := session.Call(t.Context(), theCall(t)); err != nil || answer.Result.Text != "true" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// TestABlockedProgramHoldsNobodyUp has a program that reads nothing any more: a call that cannot be written down ends in time.
func TestABlockedProgramHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &script{}
		s.answers = map[string]func(json.RawMessage) string{"tools/call": func(json.RawMessage) string { <-release; return death }}
		session, _ := played(t, stdioServer, s)
		results := make(chan error)
		for range 3 {
			go func() {
				_, err := session.Call(t.Context(), theCall(t))
				results <- err
			}()
			synctest.Wait()
		}
		for range 3 {
			if err := <-results; domain.CodeOf(err) != domain.CodeOutcomeUnknown && domain.CodeOf(err) != domain.CodeMCPServerUnavailable {
				t.Error(err)
			}
		}
		close(release)
		session.Close()
	})
}

func TestTheEndOfTheCallerReachesTheServer(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{revision: revision, answers: map[string]func(json.RawMessage) string{"tools/call": says(silence), "notifications/cancelled": says(silence)}}
				session, _ := played(t, stdioServer, s)
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("the execution was cancelled")
				time.AfterFunc(time.Second, func() { cancel(why) })
				_, err := session.Call(ctx, theCall(t))
				if domain.CodeOf(err) != domain.CodeOutcomeUnknown || !errors.Is(err, why) {
					t.Error(err)
				}
				synctest.Wait()
				if s.count("notifications/cancelled") != 1 {
					t.Error("the server does not know")
				}
				session.Close()
			})
		})
	}
}

// TestClosingWithAnOpenCall has the call end with the session.
func TestClosingWithAnOpenCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		session, _ := played(t, stdioServer, &script{answers: map[string]func(json.RawMessage) string{"tools/call": says(silence)}})
		time.AfterFunc(time.Second, func() { session.Close() })
		began := time.Now()
		if _, err := session.Call(t.Context(), theCall(t)); domain.CodeOf(err) != domain.CodeOutcomeUnknown || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if _, err := session.Call(t.Context(), theCall(t)); domain.CodeOf(err) != domain.CodeMCPServerUnavailable {
			t.Error(err)
		}
	})
}

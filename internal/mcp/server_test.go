package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

func catalogOf(t testing.TB, servers map[string]Server, variables map[string]string) *Catalog {
	t.Helper()
	c, err := NewCatalog(servers, func(name string) (string, bool) {
		value, set := variables[name]
		return value, set
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func coded(t testing.TB, err error) *domain.Error {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no error with a code", err)
	}
	return e
}

// toolServer is a program that can be started.
func toolServer(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tool-server")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return program
}

func TestServersAreFilledInAtTheStart(t *testing.T) {
	program := toolServer(t)
	variables := map[string]string{"PATH": filepath.Dir(program), "TOKEN": "t0ken", "DOCS": "Bearer d0cs"}
	c := catalogOf(t, map[string]Server{
		"program": {Command: "tool-server", Args: []string{"stdio"}, Env: []string{"TOKEN"}, SetEnv: map[string]string{"A": "b"}},
		"http":    {URL: "https://tools.example/mcp", HeadersEnv: map[string]string{"Authorization": "DOCS"}},
		"sse":     {URL: "http://127.0.0.1:1/sse", Transport: TransportSSE},
		"unused":  {Command: "tool-server", Env: []string{"NOT_SET"}},
	}, variables)
	chosen, err := c.Choose([]string{"sse", "program", "http", "sse"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Resolve(chosen)
	if err != nil {
		t.Fatal(err)
	}
	want := []Endpoint{
		{Name: "http", Transport: "http", URL: "https://tools.example/mcp", Headers: map[string]string{"Authorization": "Bearer d0cs"}},
		{Name: "program", Command: program, Args: []string{"stdio"}, Env: map[string]string{"TOKEN": "t0ken", "A": "b"}},
		{Name: "sse", Transport: "sse", URL: "http://127.0.0.1:1/sse", Headers: map[string]string{}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Endpoint{})); diff != "" {
		t.Error(diff)
	}
}

func TestMissingVariablesOfAServerAreNamed(t *testing.T) {
	c := catalogOf(t, map[string]Server{
		"program": {Command: toolServer(t), Env: []string{"TOKEN_B", "SET", "TOKEN_A"}},
		"address": {URL: "https://tools.example/mcp", HeadersEnv: map[string]string{"X-Key": "EMPTY"}},
	}, map[string]string{"SET": "s", "EMPTY": ""})
	for name, missing := range map[string]string{"program": "TOKEN_A, TOKEN_B.", "address": "EMPTY."} {
		_, err := c.Resolve(map[string]Server{name: c.servers[name]})
		if e := coded(t, err); e.Code != domain.CodeAgentUnavailable || !strings.HasSuffix(e.Message, missing) || !strings.Contains(e.Message, name) {
			t.Error(err)
		}
	}
}

func TestUnknownServersAreRefused(t *testing.T) {
	c := catalogOf(t, map[string]Server{"b": {Command: "x"}, "a": {Command: "x"}}, nil)
	if _, err := c.Choose([]string{"a", "b"}); err != nil {
		t.Error(err)
	}
	_, err := c.Choose([]string{"a", "A"})
	e := coded(t, err)
	if e.Code != domain.CodeUnknownMCPServer || e.Details[0].Pointer != "/mcpServers/1" || !strings.Contains(e.Message, "there are: a, b.") {
		t.Errorf("%v at %v", e, e.Details)
	}
	_, err = catalogOf(t, nil, nil).Choose([]string{"a"})
	if e := coded(t, err); !strings.Contains(e.Message, "there are none.") {
		t.Error(e)
	}
}

func TestServersThatCannotWork(t *testing.T) {
	for place, server := range map[string]Server{
		"/mcpServers/empty":               {},
		"/mcpServers/both":                {Command: "a", URL: "https://a.example"},
		"/mcpServers/relative/command":    {Command: "bin/a"},
		"/mcpServers/pair/env/0":          {Command: "a", Env: []string{"A=b"}},
		"/mcpServers/ours/env/0":          {Command: "a", Env: []string{"SIGNOFF_DATABASE_URL"}},
		"/mcpServers/mixed":               {Command: "a", Transport: "sse"},
		"/mcpServers/turned":              {URL: "https://a.example", Args: []string{"a"}},
		"/mcpServers/file/url":            {URL: "file:///etc/passwd"},
		"/mcpServers/user/url":            {URL: "https://me:secret@a.example"},
		"/mcpServers/way/transport":       {URL: "https://a.example", Transport: "websocket"},
		"/mcpServers/head/headersEnv/A B": {URL: "https://a.example", HeadersEnv: map[string]string{"A B": "X"}},
		"/mcpServers/own/headersEnv/X":    {URL: "https://a.example", HeadersEnv: map[string]string{"X": "SIGNOFF_TOKEN"}},
		"/mcpServers/../":                 {Command: "a"},
	} {
		name := strings.Split(place, "/")[2]
		_, err := NewCatalog(map[string]Server{name: server}, nil)
		e := coded(t, err)
		if e.Code != domain.CodeInvalid || e.Details[0].Pointer != strings.TrimSuffix(place, "/") || strings.Contains(e.Message, "secret@") {
			t.Errorf("%s: %v at %v", place, e, e.Details)
		}
	}
}

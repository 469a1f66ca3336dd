package mcp

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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
		"signed":  {URL: "https://tools.example/mcp", BearerEnv: "TOKEN", HeadersEnv: map[string]string{"X-Docs": "DOCS"}},
		"secrets": {Command: "tool-server", SecretEnv: map[string]string{"API_KEY": "TOKEN"}},
		"unused":  {Command: "tool-server", Env: []string{"NOT_SET"}},
	}, variables)
	chosen, err := c.Choose("default", []string{"sse", "program", "http", "sse", "signed", "secrets"})
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
		{Name: "secrets", Command: program, Env: map[string]string{"API_KEY": "t0ken"}},
		{Name: "signed", Transport: "http", URL: "https://tools.example/mcp", Headers: map[string]string{"Authorization": "Bearer t0ken", "X-Docs": "Bearer d0cs"}},
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
		"bearer":  {URL: "https://tools.example/mcp", BearerEnv: "GONE"},
		"secret":  {Command: toolServer(t), SecretEnv: map[string]string{"KEY": "VAULT"}},
	}, map[string]string{"SET": "s", "EMPTY": ""})
	for name, missing := range map[string]string{"program": "TOKEN_A, TOKEN_B.", "address": "EMPTY.", "bearer": "GONE.", "secret": "VAULT."} {
		_, err := c.Resolve(map[string]Server{name: c.servers[name]})
		if e := coded(t, err); e.Code != domain.CodeAgentUnavailable || !strings.HasSuffix(e.Message, missing) || !strings.Contains(e.Message, name) {
			t.Error(err)
		}
	}
}

func TestUnknownServersAreRefused(t *testing.T) {
	c := catalogOf(t, map[string]Server{"b": {Command: "x"}, "a": {Command: "x"}}, nil)
	if _, err := c.Choose("default", []string{"a", "b"}); err != nil {
		t.Error(err)
	}
	_, err := c.Choose("default", []string{"a", "A"})
	e := coded(t, err)
	if e.Code != domain.CodeUnknownMCPServer || e.Details[0].Pointer != "/mcpServers/1" || !strings.Contains(e.Message, "there are: a, b.") {
		t.Errorf("%v at %v", e, e.Details)
	}
	_, err = catalogOf(t, nil, nil).Choose("default", []string{"a"})
	if e := coded(t, err); !strings.Contains(e.Message, "there are none.") {
		t.Error(e)
	}
}

// TestAServerOfOtherTenantsIsAsOneThatIsNotThere: the answer is the same, byte for byte, whether the server is defined or not.
func TestAServerOfOtherTenantsIsAsOneThatIsNotThere(t *testing.T) {
	all := map[string]Server{
		"shared": {Command: "x"}, "ours": {Command: "x", Tenants: []domain.TenantID{"us", "both"}}, "theirs": {Command: "x", Tenants: []domain.TenantID{"them", "both"}},
	}
	for tenant, want := range map[domain.TenantID][]string{
		"us": {"ours", "shared"}, "them": {"shared", "theirs"}, "both": {"ours", "shared", "theirs"}, "other": {"shared"},
	} {
		c := catalogOf(t, all, nil)
		if got := slices.Sorted(maps.Keys(c.Of(tenant))); !slices.Equal(got, want) {
			t.Errorf("%s may use %v, not %v", tenant, got, want)
		}
		known := map[string]Server{}
		for name, server := range all {
			if slices.Contains(want, name) {
				known[name] = server
			}
		}
		without := catalogOf(t, known, nil)
		for name := range all {
			_, err := c.Choose(tenant, []string{"shared", name})
			if slices.Contains(want, name) {
				if err != nil {
					t.Errorf("%s is refused %s: %v", tenant, name, err)
				}
				continue
			}
			_, undefined := without.Choose(tenant, []string{"shared", name})
			if diff := cmp.Diff(coded(t, undefined), coded(t, err)); diff != "" {
				t.Errorf("%s learns that %s is there: %s", tenant, name, diff)
			}
		}
	}
}

func TestWhatAnEntryLeavesOutHasADefault(t *testing.T) {
	c := catalogOf(t, map[string]Server{
		"plain": {URL: "https://a.example", OAuth: &OAuth{}},
		"set":   {URL: "https://a.example", StartTimeout: time.Second, CallTimeout: time.Hour, OAuth: &OAuth{Grant: GrantClientCredentials, ClientID: "a", ClientSecretEnv: "B", Issuer: "https://as.example"}},
	}, nil)
	plain, _ := c.Server("plain")
	set, _ := c.Server("set")
	if plain.StartTimeout != DefaultStartTimeout || plain.CallTimeout != DefaultCallTimeout || plain.OAuth.Grant != GrantAuthorizationCode {
		t.Errorf("%+v, %+v", plain, plain.OAuth)
	}
	if set.StartTimeout != time.Second || set.CallTimeout != time.Hour || set.OAuth.Grant != GrantClientCredentials {
		t.Errorf("%+v, %+v", set, set.OAuth)
	}
	if _, known := c.Server("gone"); known {
		t.Error("there is a server that nobody has defined")
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

		"/mcpServers/nobody/tenants":                 {Command: "a", Tenants: []domain.TenantID{}},
		"/mcpServers/blank/tenants/1":                {Command: "a", Tenants: []domain.TenantID{"us", " "}},
		"/mcpServers/twice/tenants/1":                {Command: "a", Tenants: []domain.TenantID{"us", "us"}},
		"/mcpServers/late/startTimeoutSeconds":       {Command: "a", StartTimeout: 2 * time.Hour},
		"/mcpServers/back/callTimeoutSeconds":        {URL: "https://a.example", CallTimeout: -1},
		"/mcpServers/wide/hosts/0":                   {Command: "a", Hosts: []string{"*"}},
		"/mcpServers/odd/hosts/1":                    {Command: "a", Hosts: []string{"a.example", "https://a.example"}},
		"/mcpServers/double/secrets":                 {Command: "a", Env: []string{"KEY"}, SecretEnv: map[string]string{"KEY": "OTHER"}},
		"/mcpServers/fixed/secrets":                  {Command: "a", SetEnv: map[string]string{"KEY": "x"}, SecretEnv: map[string]string{"KEY": "OTHER"}},
		"/mcpServers/bearing":                        {Command: "a", BearerEnv: "A"},
		"/mcpServers/asking":                         {Command: "a", OAuth: &OAuth{}},
		"/mcpServers/mounting":                       {URL: "https://a.example", Mounts: map[string]string{"/srv": "read"}},
		"/mcpServers/reaching":                       {URL: "https://a.example", Hosts: []string{"a.example"}},
		"/mcpServers/inside":                         {URL: "https://a.example", Environment: "app"},
		"/mcpServers/lasting":                        {URL: "https://a.example", KeepRunning: true},
		"/mcpServers/keyed":                          {URL: "https://a.example", SecretEnv: map[string]string{"A": "B"}},
		"/mcpServers/value/bearerEnv":                {URL: "https://a.example", BearerEnv: "Bearer abc"},
		"/mcpServers/ours2/bearerEnv":                {URL: "https://a.example", BearerEnv: "SIGNOFF_TOKEN"},
		"/mcpServers/both2/bearerEnv":                {URL: "https://a.example", BearerEnv: "A", OAuth: &OAuth{}},
		"/mcpServers/again/headersEnv/authorization": {URL: "https://a.example", BearerEnv: "A", HeadersEnv: map[string]string{"authorization": "B"}},
		"/mcpServers/grant/oauth/grant":              {URL: "https://a.example", OAuth: &OAuth{Grant: "password"}},
		"/mcpServers/client/oauth/clientId":          {URL: "https://a.example", OAuth: &OAuth{Grant: GrantClientCredentials, ClientSecretEnv: "A"}},
		"/mcpServers/open/oauth/clientSecretEnv":     {URL: "https://a.example", OAuth: &OAuth{Grant: GrantClientCredentials, ClientID: "a"}},
		"/mcpServers/whose/oauth/clientId":           {URL: "https://a.example", OAuth: &OAuth{ClientSecretEnv: "A"}},
		"/mcpServers/own2/oauth/clientSecretEnv":     {URL: "https://a.example", OAuth: &OAuth{ClientID: "a", ClientSecretEnv: "SIGNOFF_ENCRYPTION_KEY", Issuer: "https://as.example"}},
		"/mcpServers/any/oauth/issuer":               {URL: "https://a.example", OAuth: &OAuth{ClientID: "a", ClientSecretEnv: "B"}},
		"/mcpServers/which/oauth/clientMetadataUrl":  {URL: "https://a.example", OAuth: &OAuth{ClientID: "a", ClientMetadata: "https://b.example/c"}},
		"/mcpServers/clear/oauth/clientMetadataUrl":  {URL: "https://a.example", OAuth: &OAuth{ClientMetadata: "http://b.example/c"}},
		"/mcpServers/bare/oauth/clientMetadataUrl":   {URL: "https://a.example", OAuth: &OAuth{ClientMetadata: "https://b.example/"}},
		"/mcpServers/line/oauth/clientId":            {URL: "https://a.example", OAuth: &OAuth{ClientID: "a\nb"}},
		"/mcpServers/from/oauth/issuer":              {URL: "https://a.example", OAuth: &OAuth{Issuer: "a.example"}},
		"/mcpServers/asked/oauth/issuer":             {URL: "https://a.example", OAuth: &OAuth{Issuer: "https://a.example?x=y"}},
		"/mcpServers/scope/oauth/scopes/1":           {URL: "https://a.example", OAuth: &OAuth{Scopes: []string{"a", "b c"}}},
	} {
		name := strings.Split(place, "/")[2]
		_, err := NewCatalog(map[string]Server{name: server}, nil)
		e := coded(t, err)
		if e.Code != domain.CodeInvalid || e.Details[0].Pointer != strings.TrimSuffix(place, "/") || strings.Contains(e.Message, "secret@") {
			t.Errorf("%s: %v at %v", place, e, e.Details)
		}
	}
}

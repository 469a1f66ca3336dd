package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/mcp"
)

func TestMCPServersOfTheFile(t *testing.T) {
	file, err := written(t, `models: {demo: {provider: demo}}
secrets: {github: {env: GITHUB_TOKEN, as: GH_TOKEN}, other: {env: OTHER_TOKEN}}
mcpServers:
  program:
    tenants: [one, two]
    required: true
    trustHints: true
    pin: off
    startTimeoutSeconds: 5
    callTimeoutSeconds: 600
    command: server
    args: [stdio]
    env: [DEBUG]
    setEnv: {A: b}
    secrets: [github, other]
    environment: app
    mounts: {/srv: write}
    hosts: [api.github.com]
    keepRunning: true
  address:
    url: https://mcp.example/mcp
    transport: http
    headersEnv: {X-Key: KEY}
    bearerEnv: TOKEN
  signed:
    url: https://mcp.example/mcp
    oauth: {grant: clientCredentials, clientId: id, clientSecretEnv: SECRET, issuer: "https://as.example", scopes: [a, b]}
  document: {url: "https://mcp.example/mcp", oauth: {clientMetadataUrl: "https://signoff.example/client.json"}}
`).readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := file.openMCPServers()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]mcp.Server{
		"program": {
			Tenants: []domain.TenantID{"one", "two"}, Required: true, TrustHints: true, PinOff: true, StartTimeout: 5 * time.Second, CallTimeout: 10 * time.Minute,
			Command: "server", Args: []string{"stdio"}, Env: []string{"DEBUG"}, SetEnv: map[string]string{"A": "b"},
			SecretEnv:   map[string]string{"GH_TOKEN": "GITHUB_TOKEN", "OTHER_TOKEN": "OTHER_TOKEN"},
			Environment: "app", Mounts: map[string]string{"/srv": "write"}, Hosts: []string{"api.github.com"}, KeepRunning: true,
		},
		"address": {
			URL: "https://mcp.example/mcp", Transport: "http", HeadersEnv: map[string]string{"X-Key": "KEY"}, BearerEnv: "TOKEN",
			StartTimeout: mcp.DefaultStartTimeout, CallTimeout: mcp.DefaultCallTimeout,
		},
		"signed": {
			URL: "https://mcp.example/mcp", StartTimeout: mcp.DefaultStartTimeout, CallTimeout: mcp.DefaultCallTimeout,
			OAuth: &mcp.OAuth{Grant: mcp.GrantClientCredentials, ClientID: "id", ClientSecretEnv: "SECRET", Issuer: "https://as.example", Scopes: []string{"a", "b"}},
		},
		"document": {
			URL: "https://mcp.example/mcp", StartTimeout: mcp.DefaultStartTimeout, CallTimeout: mcp.DefaultCallTimeout,
			OAuth: &mcp.OAuth{Grant: mcp.GrantAuthorizationCode, ClientMetadata: "https://signoff.example/client.json"},
		},
	}
	if diff := cmp.Diff(want, catalog.All()); diff != "" {
		t.Error(diff)
	}
}

// TestCredentialsOfMCPServersAreMasked: a bearer token and a client's secret show up nowhere.
func TestCredentialsOfMCPServersAreMasked(t *testing.T) {
	t.Setenv("TOKEN", "t0ken-of-the-server")
	t.Setenv("SECRET", "s3cret-of-the-client")
	config := written(t, `models: {demo: {provider: demo}}
mcpServers:
  a: {url: "https://mcp.example", bearerEnv: TOKEN}
  b: {url: "https://mcp.example", oauth: {clientId: id, clientSecretEnv: SECRET}}
`)
	file, err := config.readConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	_, masker, err := file.openSecrets(config)
	if err != nil {
		t.Fatal(err)
	}
	if got := masker.MaskString("t0ken-of-the-server s3cret-of-the-client"); got != "[masked] [masked]" {
		t.Error(got)
	}
	t.Setenv("SECRET", "short")
	if _, _, err := file.openSecrets(config); err == nil {
		t.Error("a secret that cannot be masked is taken")
	}
}

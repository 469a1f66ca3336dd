package main

import (
	"cmp"
	"errors"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kelseyhightower/envconfig"

	"signoff/internal/dispatch"
	"signoff/internal/egress"
	"signoff/internal/mcp/oauth"
	"signoff/internal/sandbox"
	"signoff/internal/sandbox/processes"
	"signoff/internal/sandbox/proxy"
)

// prefix of all variables that are read; nothing else of the environment is, but the keys of models that the registry
// names.
const prefix = "SIGNOFF"

// defaultConfigFile is read if SIGNOFF_CONFIG is not set, and may be missing.
const defaultConfigFile = "./signoff.yaml"

// Config holds the operator's SIGNOFF_* variables. The field names are the variables' names: a tag would make
// envconfig read the name without the prefix too, and DATABASE_URL is often somebody else's.
type Config struct {
	Addr          string   `split_words:"true" default:"127.0.0.1:8080"`
	DataDir       string   `split_words:"true" default:"./data"`
	CheckpointDir string   `split_words:"true"` // the folder of the repositories of checkpoints; empty: in DataDir
	WorkspacesDir string   `split_words:"true"` // the folder of the own folders of executions; empty: in DataDir
	DatabaseURL   string   `split_words:"true"`
	Config        string   `split_words:"true"` // the YAML file; empty: ./signoff.yaml where there is one
	WorkspaceRoot string   `split_words:"true"` // empty: workspaces.default of the file, or the current folder
	Sandbox       string   `split_words:"true" default:"auto"`
	LogLevel      string   `split_words:"true" default:"info"`
	LogFormat     string   `split_words:"true" default:"auto"` // text, json; auto: text on a terminal
	DrainSeconds  int      `split_words:"true" default:"30"`
	LeaseSeconds  int      `split_words:"true" default:"10"`
	MaxStreams    int      `split_words:"true" default:"20000"`
	AllowedHosts  []string `split_words:"true"`
	EncryptionKey string   `split_words:"true"` // of the tokens for MCP servers; several, separated by commas

	DrainDelaySeconds  int `split_words:"true" default:"0"`
	ParkSeconds        int `split_words:"true" default:"60"`
	MaxLive            int `split_words:"true" default:"1000"`
	MaxEvents          int `split_words:"true" default:"2000000"`
	MaxLivePerTenant   int `split_words:"true" default:"0"` // 0: as many as there may be in all
	MaxQueued          int `split_words:"true" default:"10000"`
	MaxQueuedPerTenant int `split_words:"true" default:"1000"`
	MaxGenerations     int `split_words:"true" default:"10"` // of blocks for one runbook or document in GenerationSeconds; 0: any number
	GenerationSeconds  int `split_words:"true" default:"10"`
	MaxCommands        int `split_words:"true" default:"0"` // 0: by processors and memory
	RetentionDays      int `split_words:"true" default:"0"` // 0: for ever
}

// readConfig reads the environment. A variable that is set and empty counts as not set: compose files write
// `${NAME:-}` for "the default, please". A variable that nobody reads is a mistake, most often a typing error.
func readConfig() (Config, error) {
	var c Config
	if err := unsetEmpty(); err != nil {
		return c, err
	}
	if err := envconfig.Process(prefix, &c); err != nil {
		if parse, is := errors.AsType[*envconfig.ParseError](err); is { // its own message names Go types
			kind := "number"
			if strings.Contains(parse.TypeName, "int") {
				kind = "whole number"
			}
			return c, usagef("%s is not a %s: %s", parse.KeyName, kind, parse.Value)
		}
		return c, usageError{err}
	}
	unknown, err := unknownVariables()
	if err != nil {
		return c, err
	}
	if len(unknown) > 0 {
		return c, usagef("there is no setting %s; docs/configuration.md lists them all", strings.Join(unknown, ", "))
	}
	for i := range c.AllowedHosts {
		c.AllowedHosts[i] = strings.TrimSpace(c.AllowedHosts[i])
	}
	return c, c.validate()
}

func unsetEmpty() error {
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, prefix+"_") && value == "" {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// unknownVariables leaves SIGNOFF_TEST_* to the tests, SIGNOFF_TOKEN and SIGNOFF_URL to whoever writes clients.
func unknownVariables() ([]string, error) {
	var settings strings.Builder
	if err := envconfig.Usagef(prefix, &Config{}, &settings, "{{range .}}{{usage_key .}} {{end}}"); err != nil {
		return nil, err
	}
	known := append(strings.Fields(settings.String()), prefix+"_TOKEN", prefix+"_URL")
	var unknown []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, prefix+"_") && !strings.HasPrefix(name, prefix+"_TEST_") && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown, nil
}

func (c Config) validate() error {
	switch {
	case !slices.Contains([]string{"auto", "bubblewrap", "namespaces", "off"}, c.Sandbox):
		return usagef("SIGNOFF_SANDBOX is auto, bubblewrap, namespaces or off, not %q", c.Sandbox)
	case !slices.Contains([]string{"auto", "text", "json"}, c.LogFormat):
		return usagef("SIGNOFF_LOG_FORMAT is auto, text or json, not %q", c.LogFormat)
	case c.MaxStreams < 1:
		return usagef("SIGNOFF_MAX_STREAMS is at least 1, not %d", c.MaxStreams)
	}
	for _, s := range []struct {
		name               string
		value, least, most int
	}{
		{"DRAIN_SECONDS", c.DrainSeconds, 1, 3600},
		{"DRAIN_DELAY_SECONDS", c.DrainDelaySeconds, 0, 3600},
		{"LEASE_SECONDS", c.LeaseSeconds, 1, 300},
		{"PARK_SECONDS", c.ParkSeconds, 1, 86_400},
		{"MAX_LIVE", c.MaxLive, 1, 100_000},
		{"MAX_LIVE_PER_TENANT", c.MaxLivePerTenant, 0, 100_000},
		{"MAX_QUEUED", c.MaxQueued, 0, 1_000_000},
		{"MAX_EVENTS", c.MaxEvents, 1000, 1_000_000_000},
		{"MAX_QUEUED_PER_TENANT", c.MaxQueuedPerTenant, 0, 1_000_000},
		{"MAX_GENERATIONS", c.MaxGenerations, 0, 1000},
		{"GENERATION_SECONDS", c.GenerationSeconds, 1, 3600},
		{"MAX_COMMANDS", c.MaxCommands, 0, 10_000},
		{"RETENTION_DAYS", c.RetentionDays, 0, 3650},
	} {
		if s.value < s.least || s.value > s.most {
			return usagef("%s_%s is %d to %d, not %d", prefix, s.name, s.least, s.most, s.value)
		}
	}
	if err := validateAddr(c.Addr); err != nil {
		return err
	}
	if _, err := c.encryptionKeys(); err != nil {
		return err
	}
	_, err := c.logLevel()
	return err
}

func (c Config) logLevel() (level slog.Level, err error) {
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return level, usagef("SIGNOFF_LOG_LEVEL is debug, info, warn or error, not %q", c.LogLevel)
	}
	return level, nil
}

func (c Config) encryptionKeys() (oauth.Keys, error) {
	keys, err := oauth.ParseKeys(c.EncryptionKey)
	if err != nil {
		return keys, usagef("SIGNOFF_ENCRYPTION_KEY: %w", err)
	}
	return keys, nil
}

// loopback reports whether only this machine can reach the address. An empty host means all interfaces.
func (c Config) loopback() bool {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// checkpointDir returns the folder of the repositories of checkpoints.
func (c Config) checkpointDir() string {
	return cmp.Or(c.CheckpointDir, filepath.Join(c.DataDir, "checkpoints"))
}

// workspacesDir returns the folder of the own folders of executions.
func (c Config) workspacesDir() string {
	return cmp.Or(c.WorkspacesDir, filepath.Join(c.DataDir, "workspaces"))
}

// tokenFile is where the first start writes its token.
func (c Config) tokenFile() string { return filepath.Join(c.DataDir, "token") }

func (c Config) configPath() string {
	if c.Config != "" {
		return c.Config
	}
	return defaultConfigFile
}

func (c Config) drain() time.Duration { return time.Duration(c.DrainSeconds) * time.Second }

// drainDelay is the time that the server serves on after `/readyz` says 503.
func (c Config) drainDelay() time.Duration { return time.Duration(c.DrainDelaySeconds) * time.Second }

func (c Config) parkAfter() time.Duration { return time.Duration(c.ParkSeconds) * time.Second }

// limits converts the limits for sessions: a queue limit of 0 means here that nothing may queue, one of generations that any number may be created,
// and there both mean the default.
func (c Config) limits() dispatch.Limits {
	queue := func(bound int) int {
		if bound == 0 {
			return dispatch.NoQueue
		}
		return bound
	}
	generations := c.MaxGenerations
	if generations == 0 {
		generations = dispatch.NoLimit
	}
	return dispatch.Limits{
		Generations: generations, GenerationWindow: time.Duration(c.GenerationSeconds) * time.Second,
		Live: c.MaxLive, LivePerTenant: c.MaxLivePerTenant,
		Queued: queue(c.MaxQueued), QueuedPerTenant: queue(c.MaxQueuedPerTenant),
		Events:   c.MaxEvents,
		Commands: cmp.Or(c.MaxCommands, sandbox.Commands()),
	}
}

// sandboxConfig protects what is the server's own where it lies inside the workspace, as it does by default: the data
// folder holds the token, the configuration names hosts that keys are sent to, and the binary is started again.
// The default configuration file is guarded also where another one is named: a file that a command puts there would be
// read by the next start without SIGNOFF_CONFIG.
func (c Config) sandboxConfig(mask func(string) string) sandbox.Config {
	guarded := []string{defaultConfigFile}
	if c.Config != "" {
		guarded = append(guarded, c.Config)
	}
	covered := slices.Clone(guarded)
	if self, err := os.Executable(); err == nil {
		guarded = append(guarded, self)
	}
	hidden := []string{c.DataDir}
	if c.CheckpointDir != "" {
		hidden = append(hidden, c.CheckpointDir)
	}
	if c.WorkspacesDir != "" {
		hidden = append(hidden, c.WorkspacesDir)
	}
	return sandbox.Config{Mode: sandbox.Mode(c.Sandbox), Hidden: hidden, ReadOnly: guarded, Covered: covered, Lookup: os.LookupEnv, Network: network(mask)}
}

// network carries the connections of a command to the hosts that it was granted, and lists processes for it.
func network(mask func(string) string) func(sandbox.Access) (sandbox.Proxy, error) {
	return func(to sandbox.Access) (sandbox.Proxy, error) {
		p, err := proxy.Open(egress.Dialer{Hosts: append([]string{}, to.Hosts...), Networks: to.Networks})
		if err != nil {
			return nil, err
		}
		if to.Lasting {
			p.Last()
		}
		if to.Processes != "" {
			p.Serve(to.Processes, func(client net.Conn) { sendProcesses(client, mask) })
		}
		for _, relay := range slices.Sorted(maps.Keys(to.Serve)) {
			p.Serve(relay, func(client net.Conn) { to.Serve[relay](client) })
		}
		return p, nil
	}
}

// sendProcesses sends the list of processes. A program that is not told it sees a connection that ends.
func sendProcesses(client net.Conn, mask func(string) string) {
	list, err := processes.JSON(mask)
	if err == nil {
		_ = client.SetWriteDeadline(time.Now().Add(processesTimeout))
		_, _ = client.Write(list)
	}
}

const processesTimeout = 10 * time.Second

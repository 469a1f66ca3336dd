package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
	"signoff/internal/sessions"
	"signoff/internal/store"
	"signoff/internal/tools"
	"signoff/internal/workspace"
)

// doctor prints a line for each check, and fails if something that is configured does not work. It changes
// nothing: no file, no folder, no schema.
func doctor(ctx context.Context, args []string, std stdio) error {
	if err := noArguments("doctor", args, std); err != nil {
		return err
	}
	config, named, err := settle(std)
	if err != nil {
		return err
	}
	vault, masker, err := named.openSecrets(config)
	if err != nil {
		return err
	}
	d := &diagnosis{out: std.out, masker: masker}
	d.configuration(config)
	d.database(ctx, config)
	box := d.sandbox(ctx, config)
	d.secrets(vault)
	d.webSearch(named)
	d.settings(named)
	d.webhooks(named)
	d.models(ctx, named)
	d.agents(ctx, config, named, box)
	if d.broken {
		return errors.New("something that is configured does not work")
	}
	return nil
}

// diagnosis prints findings and remembers whether one is bad.
type diagnosis struct {
	out    io.Writer
	masker *secrets.Masker
	broken bool
}

func (d *diagnosis) good(what, detail string) { d.print("ok", what, detail) }

func (d *diagnosis) note(what, detail string) { d.print("-", what, detail) }

func (d *diagnosis) bad(what string, err error) {
	d.broken = true
	detail := err.Error()
	var coded *domain.Error
	if errors.As(err, &coded) {
		detail = sentence(coded)
	}
	d.print("FAIL", what, detail)
}

// print masks every line: the version of a program is foreign text, too.
func (d *diagnosis) print(mark, what, detail string) {
	fmt.Fprintf(d.out, "%-5s %-22s %s\n", mark, what, d.masker.MaskString(detail))
}

func (d *diagnosis) configuration(config Config) {
	files, err := workspace.New(config.WorkspaceRoot)
	if err != nil {
		d.bad("workspace", err)
		return
	}
	d.good("workspace", files.Root())
	if config.loopback() {
		d.good("address", config.Addr+", this machine only")
	} else {
		d.note("address", config.Addr+", reachable from other machines; put TLS in front of it")
	}
}

func (d *diagnosis) database(ctx context.Context, config Config) {
	name := "SQLite in " + config.DataDir
	if config.DatabaseURL != "" {
		name = "Postgres"
	}
	if _, err := os.Stat(config.storeConfig().Path); config.DatabaseURL == "" && errors.Is(err, fs.ErrNotExist) {
		d.note("database", name+": not there yet; the first start makes it")
		return
	}
	s, err := store.Open(ctx, config.storeConfig())
	if err != nil {
		d.bad("database", err)
		return
	}
	defer s.Close()
	if err := s.CheckSchema(ctx); err != nil {
		d.bad("database schema", err)
		return
	}
	d.good("database", name)
	if s.Shared() {
		d.postgres(ctx, s)
	} else {
		d.sqlite(ctx, s)
	}
}

func (d *diagnosis) sandbox(ctx context.Context, config Config) *sandbox.Sandbox {
	box, err := sandbox.New(ctx, config.sandboxConfig())
	if err != nil {
		d.bad("sandbox", err)
		return nil
	}
	for _, probe := range box.Report().Probes {
		report := d.note
		if probe.Works {
			report = d.good
		}
		report("sandbox "+string(probe.Kind), probe.Detail)
	}
	if box.Name() == sessions.NoSandbox {
		d.bad("sandbox", errors.New("nothing works, so commands are refused. Install bubblewrap, allow user namespaces, or set SIGNOFF_SANDBOX=off"))
	} else {
		d.good("sandbox in use", box.Name())
	}
	if path, err := exec.LookPath("bash"); err == nil {
		d.good("bash", path)
	} else {
		d.bad("bash", errors.New("not found; the bash tool needs it"))
	}
	return box
}

// secrets lists the secrets with a value, and never the value.
func (d *diagnosis) secrets(vault *secrets.Vault) {
	for _, info := range vault.Secrets() {
		if info.Available {
			d.good("secret "+info.Name, fmt.Sprintf("%s, given as %s", info.From, info.Variable))
		} else {
			d.bad("secret "+info.Name, fmt.Errorf("the variable %s is empty", info.From))
		}
	}
}

// settings checks the block types and the defaults of requests.
func (d *diagnosis) settings(named registry) {
	switch s, err := named.openSettings(); {
	case err != nil:
		d.bad("settings", err)
	case len(s.BlockTypes) > 0:
		d.good("block types", fmt.Sprint(len(s.BlockTypes)))
	}
}

// webhooks lists the targets beside public addresses, and the address of links.
func (d *diagnosis) webhooks(named registry) {
	targets, err := named.openTargets()
	switch {
	case err != nil:
		d.bad("webhooks", err)
	case named.Webhooks.PublicURL != "" || len(targets.AllowHosts) > 0:
		d.good("webhooks", strings.TrimSpace(named.Webhooks.PublicURL+" "+strings.Join(targets.AllowHosts, " ")))
	}
}

// webSearch checks the web search, if configured. The server does not start without its key.
func (d *diagnosis) webSearch(named registry) {
	_, err := named.openTools()
	switch {
	case err != nil:
		d.bad("web search", err)
	case named.WebSearch != nil:
		d.good("web search", named.WebSearch.Provider)
	}
}

func (d *diagnosis) models(ctx context.Context, named registry) {
	opened, err := named.openModels(tools.NewRegistry(), d.masker)
	if err != nil {
		d.bad("models", err)
		return
	}
	defer opened.Close()
	for _, info := range opened.Models(ctx) {
		if info.Available {
			d.good("model "+info.Name, info.Provider+" "+info.Model)
		} else {
			d.bad("model "+info.Name, errors.New(info.Reason))
		}
	}
}

// agents lists missing agents, too, with what to install. A missing agent is a mistake only if the
// configuration names them.
func (d *diagnosis) agents(ctx context.Context, config Config, named registry, box *sandbox.Sandbox) {
	opened, err := named.openAgents(config, box, d.masker)
	if err != nil {
		d.bad("agents", err)
		return
	}
	defer opened.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, info := range opened.AgentsInFull(ctx) {
		what := "agent " + info.Name
		switch {
		case info.Available && info.Version == "":
			d.good(what, "version unknown")
		case info.Available:
			d.good(what, info.Version)
		case info.Configured:
			d.bad(what, errors.New(info.Reason))
		default:
			d.note(what, info.Reason)
		}
	}
}

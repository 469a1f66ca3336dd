package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"signoff/internal/acp/registry"
	"signoff/internal/environments"
	"signoff/internal/llm"
	script "signoff/internal/llm/demo"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
	"signoff/internal/sessions"
	"signoff/internal/tools"
	"signoff/internal/workspace"
)

// doctor prints a line for each check, and fails if a configured part does not work. It changes nothing: no file, no folder, no schema.
func doctor(ctx context.Context, args []string, std stdio) error {
	set := flags("doctor", std)
	environment := set.String("environment", "", "show what a command would see in this environment, and nothing else")
	quiet := set.Bool("no-requests", false, "ask no model for an answer, which costs some tokens of each, and no MCP server for its tools; look only whether the servers of models answer")
	directory := set.String("directory", "", "the working directory of that command; the workspace's root without it")
	if err := parse(set, args); err != nil {
		return err
	}
	config, file, err := settle(std)
	if err != nil {
		return err
	}
	vault, masker, err := file.openSecrets(config)
	if err != nil {
		return err
	}
	d := &diagnosis{out: std.out, masker: masker}
	if *environment != "" {
		return d.inspect(ctx, config, file, *environment, *directory)
	}
	d.configuration(config, file)
	d.database(ctx, config, file)
	box := d.sandbox(ctx, config)
	d.checkpoints(ctx, config, file, box)
	known := d.environments(config, file, box)
	d.secrets(vault)
	d.webSearch(file)
	d.settings(file)
	d.tenants(file)
	d.webhooks(file)
	d.models(ctx, file, !*quiet)
	servers := d.mcpServers(ctx, config, file, known, box, !*quiet)
	d.agents(ctx, config, file, servers, known, box)
	d.profiles(ctx, config, file, vault, servers, known, box)
	if d.broken {
		return errors.New("a configured part does not work")
	}
	return nil
}

func (d *diagnosis) configuration(config Config, file configFile) {
	files, err := file.openWorkspace(config)
	if err != nil {
		d.bad("workspace", err)
		return
	}
	for _, root := range files.Roots() {
		name := "workspace"
		if root.Name != workspace.DefaultRoot {
			name += " " + root.Name
		}
		d.good(name, root.Path)
	}
	if config.loopback() {
		d.good("address", config.Addr+", this machine only")
	} else {
		d.note("address", config.Addr+", reachable from other machines; put TLS in front of it")
	}
}

func (d *diagnosis) sandbox(ctx context.Context, config Config) *sandbox.Sandbox {
	protected := config.sandboxConfig(nil)
	protected.Survey = true
	protected.Lend = func(path string, content []byte) error { return maskLent(d.masker, path, content) }
	box, err := sandbox.New(ctx, protected)
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
		d.bad("sandbox", errors.New("no sandbox works, so commands are refused. Install bubblewrap, allow user namespaces, or define an environment with isolation: none"))
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

// environments lists what commands can see. One that this machine cannot build is a note, but for the default one.
func (d *diagnosis) environments(config Config, file configFile, box *sandbox.Sandbox) *environments.Catalog {
	files, err := file.openWorkspace(config)
	if err != nil || box == nil {
		return nil // said above
	}
	catalog, err := file.openEnvironments(config, box, files.Root())
	if err != nil {
		d.bad("environments", err)
		return nil
	}
	if box.Name() == string(sandbox.KindOff) {
		d.note("SIGNOFF_SANDBOX=off", "it switches isolation off, and so every environment that needs it. In its place, write into signoff.yaml:\n"+insteadOfOff(os.Geteuid()))
	}
	for _, e := range catalog.All() {
		name := "environment " + e.Name
		if e.Default {
			name += " (default)"
		}
		switch {
		case e.Available:
			d.good(name, describe(e.Environment))
		case e.Default:
			d.bad(name, errors.New(*e.Reason))
		default:
			d.note(name, *e.Reason)
		}
	}
	return catalog
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
func (d *diagnosis) settings(file configFile) {
	switch s, err := file.openSettings(); {
	case err != nil:
		d.bad("settings", err)
	case len(s.BlockTypes) > 0:
		d.good("block types", fmt.Sprint(len(s.BlockTypes)))
	}
}

// webhooks lists the targets beside public addresses, and the address of links.
func (d *diagnosis) webhooks(file configFile) {
	targets, err := file.openTargets()
	switch {
	case err != nil:
		d.bad("webhooks", err)
	case file.Webhooks.PublicURL != "" || len(targets.AllowHosts) > 0:
		d.good("webhooks", strings.TrimSpace(file.Webhooks.PublicURL+" "+strings.Join(targets.AllowHosts, " ")))
	}
}

// webSearch checks the web search, if configured. The server does not start without its key.
func (d *diagnosis) webSearch(file configFile) {
	_, err := file.openTools()
	switch {
	case err != nil:
		d.bad("web search", err)
	case file.WebSearch != nil:
		d.good("web search", file.WebSearch.Provider)
	}
}

// models asks each model whose server answers for a call of a tool, all at once.
func (d *diagnosis) models(ctx context.Context, file configFile, ask bool) {
	opened, err := file.openModels(tools.NewRegistry(), d.masker, nil, nil)
	if err != nil {
		d.bad("models", err)
		return
	}
	defer opened.Close()
	infos := opened.Models(ctx)
	said, failures := make([]string, len(infos)), make([]error, len(infos))
	var asking sync.WaitGroup
	for i, info := range infos {
		said[i] = strings.TrimSpace(info.Provider + " " + info.Model)
		switch {
		case !info.Available:
			failures[i] = errors.New(info.Reason)
		case ask && info.Provider != script.Name:
			asking.Go(func() {
				trial, err := opened.Try(ctx, info.Name)
				said[i], failures[i] = said[i]+": "+trialText(trial), err
			})
		}
	}
	asking.Wait()
	for i, info := range infos {
		if failures[i] != nil {
			d.bad("model "+info.Name, failures[i])
		} else {
			d.good("model "+info.Name, said[i])
		}
	}
	d.runbooks(file, opened.Names())
}

// trialText is the line about a model that has passed its trial.
func trialText(trial llm.Trial) string {
	cost := fmt.Sprintf("%.1f s", trial.Took.Seconds())
	if trial.Tokens != nil {
		cost += fmt.Sprintf(", %d tokens", *trial.Tokens)
	}
	if trial.Dropped {
		return "answers, calls tools, and takes the result back without its own reasoning, which its provider refuses: each such refusal costs a request (" + cost + ")"
	}
	return "answers, calls tools, takes the result back (" + cost + ")"
}

// runbooks lists which models runbooks have.
func (d *diagnosis) runbooks(file configFile, known []string) {
	entries, err := file.openRunbooks(known)
	if err != nil {
		d.bad("runbooks", err)
		return
	}
	for _, entry := range entries {
		d.good("runbook "+entry.Runbook, "model "+strings.Join(append([]string{entry.Model}, entry.Fallbacks...), ", then "))
	}
}

// agents lists missing agents, too, with what to install. A missing agent is a mistake only if the
// configuration names them.
func (d *diagnosis) agents(
	ctx context.Context, config Config, file configFile, servers *mcp.Catalog, known *environments.Catalog, box *sandbox.Sandbox,
) {
	if servers == nil { // said above
		return
	}
	opened, err := file.openAgents(config, servers, known, box, d.masker)
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
		case info.Available:
			d.good(what, cmp.Or(info.Version, "version unknown")+"; "+isolationOf(info))
		case info.Configured:
			d.bad(what, errors.New(info.Reason))
		default:
			d.note(what, info.Reason)
		}
	}
}

// isolationOf says where the agent's process runs.
func isolationOf(info registry.AgentInfo) string {
	if info.Environment == "" {
		return "not isolated: it runs as the server's user"
	}
	return "isolated in the environment " + info.Environment
}

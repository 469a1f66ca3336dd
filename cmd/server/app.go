package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"signoff/internal/acp/registry"
	"signoff/internal/admission"
	"signoff/internal/approvals"
	"signoff/internal/budgets"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/events/items/paging"
	"signoff/internal/failpoint"
	promptfiles "signoff/internal/files"
	"signoff/internal/http"
	"signoff/internal/keys"
	"signoff/internal/llm"
	"signoff/internal/mcp"
	"signoff/internal/mcp/oauth"
	"signoff/internal/profiles"
	"signoff/internal/runbooks/template"
	"signoff/internal/sandbox"
	"signoff/internal/secrets"
	"signoff/internal/sessions"
	"signoff/internal/store"
)

// App is one server: everything wired, nothing running yet.
type App struct {
	config      Config
	store       *store.Store
	unlock      func() error
	keys        *keys.Verifier
	vault       *secrets.Vault
	masker      *secrets.Masker
	sandbox     *sandbox.Sandbox
	models      *llm.Registry
	agents      *registry.Registry
	outbox      outbox
	log         *events.Log
	manager     *dispatch.Manager
	budgets     *budgets.Ledger
	checkpoints recorder
	sweeper     *dispatch.Sweeper
	rollbacks   *dispatch.Rollbacks
	pruner      *dispatch.Pruner
	server      *http.Server
	listener    net.Listener

	credentials *oauth.Credentials // for MCP servers

	// FirstToken: this start made the first token.
	FirstToken bool
}

// Open builds a server from its configuration: it opens and migrates the database, opens the keys, probes the
// sandbox and listens. If it fails, it holds nothing.
func Open(ctx context.Context, config Config, file configFile) (app *App, err error) {
	a := &App{config: config}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
			app = nil
		}
	}()
	if a.store, err = config.openStore(ctx, databasePatience); err != nil {
		return nil, err
	}
	if a.unlock, err = a.store.LockServer(ctx); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	if a.vault, a.masker, err = file.openSecrets(config); err != nil { // after openKeys: the masker knows the token that the first start makes there
		return nil, err
	}
	maskLog(a.masker)
	known, err := file.openTools()
	if err != nil {
		return nil, err
	}
	servers, err := file.openMCPServers()
	if err != nil {
		return nil, err
	}
	files, err := file.openWorkspace(config)
	if err != nil {
		return nil, err
	}
	own, err := a.openFolders(ctx, files)
	if err != nil {
		return nil, err
	}
	files.Own(own.Base())
	if a.outbox, err = file.openOutbox(ctx, a.store); err != nil {
		return nil, err
	}
	environments, err := file.openEnvironments(config, a.sandbox, files.Root())
	if err != nil {
		return nil, err
	}
	programs, err := file.openMCPPrograms(servers, environments, a.sandbox, a.masker, files.Roots())
	if err != nil {
		return nil, err
	}
	if a.credentials, err = config.openCredentials(a.store, a.masker); err != nil {
		return nil, err
	}
	mcpManager := mcp.NewManager(mcp.ManagerConfig{
		Catalog: servers, Programs: programs, Credentials: a.credentials, Logger: slog.Default(), Mask: a.masker.MaskString, Version: version,
	})
	children := &delegates{}
	if a.models, err = file.openModels(known, a.masker, mcpSessions{mcpManager}, children); err != nil {
		return nil, err
	}
	if a.agents, err = file.openAgents(config, servers, environments, a.sandbox, a.masker); err != nil {
		return nil, err
	}
	daily, err := file.openTenants()
	if err != nil {
		return nil, err
	}
	a.warnOfTenants(ctx, file)
	replica := store.ReplicaID(uuid.NewString())
	if a.checkpoints, err = file.openCheckpoints(ctx, config, a.store, a.sandbox, files); err != nil {
		return nil, err
	}
	a.pruner = dispatch.NewPruner(a.store, a.checkpoints, replica)
	a.budgets = budgets.NewLedger(a.store, replica, daily)
	a.log = events.NewLog(notifyingStore{a.store, a.outbox.dispatcher.Notify})
	a.manager = dispatch.NewManager(dispatch.Config{
		Replica: replica, Budgets: a.budgets, Removed: a.pruner.Removed, Folders: own,
		LeaseTTL: time.Duration(config.LeaseSeconds) * time.Second, Limits: config.limits(), Trust: a.sandbox.Trust,
		Config: sessions.Config{
			DrainGrace: config.drain() / 2, ParkAfter: config.parkAfter(),
			Environments: environments, Servers: servers, Guide: newGuide(environments, a.sandbox), OpenFiles: openFiles(a.sandbox), Sandbox: a.sandbox, Workspace: files, Vault: a.vault, Masker: a.masker, Delegates: children, Ledger: a.budgets, Checkpoints: a.checkpoints,
			Agents: map[domain.SourceType]sessions.OpenAgent{
				domain.SourceInternal: a.models.Open, domain.SourceACP: a.agents.Open,
			},
		},
	}, a.store, a.log)
	a.rollbacks = dispatch.NewRollbacks(a.store, a.log, a.checkpoints.Service, replica)
	a.sweeper = dispatch.NewSweeper(a.store, a.log, time.Duration(config.RetentionDays)*24*time.Hour)
	a.sweeper.UseFolders(own, a.store)
	settings, err := file.openSettings()
	if err != nil {
		return nil, err
	}
	if settings.RunbookModels, err = file.openRunbooks(a.models.Names()); err != nil {
		return nil, err
	}
	decisions := approvals.NewService(a.store, a.log, a.models)
	decisions.IsolateCommands(func(e domain.Environment) approvals.Isolation { return sessions.IsolationIn(a.sandbox, e) })
	decisions.UseEnvironments(environments)
	decisions.TrustServers(servers)
	if a.sandbox.Name() == sessions.NoSandbox {
		decisions.RefuseCommands()
	}
	shownModels, shownAgents, tools := models{a.models, file.Models.Models}, agents{a.agents}, shownTools{known}
	operators, err := file.openProfiles(a.masker)
	if err != nil {
		return nil, err
	}
	namedAgents := profiles.NewService(a.store, operators)
	promptFiles := promptfiles.NewService(a.store, decisions, a.manager, a.masker)
	admitted := admission.New(admission.Config{
		Files:        promptFiles,
		Environments: environments, Folders: own,
		Executions: a.store, Models: shownModels, Agents: shownAgents, Tools: tools, Secrets: knownSecrets{a.vault}, Masker: a.masker,
		Templates: template.NewRenderer(), Workspace: files, Settings: settings,
		MCPServers: mcpServers{servers}, Profiles: namedAgents, DailyBudgets: daily, NoCheckpoints: a.checkpoints.Unavailable(),
	})
	children.Admission = admitted
	if err := file.checkProfiles(ctx, admitted, operators); err != nil {
		return nil, err
	}
	a.server, err = http.NewServer(http.Config{
		Admission: admitted, Sessions: a.manager, Approvals: decisions, Log: a.log, Reader: a.store, Items: paging.New(a.store), Files: promptFiles,
		Models: shownModels, Agents: shownAgents, Tools: tools, Masker: a.masker, Keys: a.keys, Webhooks: a.outbox.service,
		Checkpoints: a.checkpoints, Rollbacks: a.rollbacks, Fetches: dispatch.NewFetches(own, a.store), Environments: environments, MCPServers: shownServers{mcpManager, environments}, Profiles: namedAgents, Version: version, Hosts: append(a.outbox.hosts, config.AllowedHosts...), MaxStreams: config.MaxStreams, Collectors: a.collectors(),
	})
	if err != nil {
		return nil, err
	}
	if a.listener, err = http.Listen(ctx, config.Addr); err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; set SIGNOFF_ADDR to listen elsewhere", config.Addr, err)
	}
	return a, nil
}

// prepare probes the sandbox while it prepares the store: one waits for processes, the other for the disk, and a person waits for both. The
// data folder, which the sandbox hides, exists by now.
func (a *App) prepare(ctx context.Context) error {
	var sandboxed error
	var probing sync.WaitGroup
	probing.Go(func() { sandboxed = a.openSandbox(ctx) })
	stored := a.prepareStore(ctx)
	probing.Wait()
	return cmp.Or(stored, sandboxed)
}

func (a *App) prepareStore(ctx context.Context) error {
	if err := a.store.Migrate(ctx); err != nil {
		return err
	}
	a.warnOfSettings(ctx)
	if err := a.store.ForgetReplicas(ctx); err != nil {
		return err
	}
	return a.openKeys(ctx)
}

// warnOfSettings warns of a database that may lose acknowledged writes. Its settings are the operator's decision, so the server starts nevertheless.
func (a *App) warnOfSettings(ctx context.Context) {
	set, err := a.store.Settings(ctx)
	if err != nil {
		slog.Warn("cannot read the settings of the database", "error", err)
		return
	}
	for _, fault := range faultsOf(set) {
		slog.Warn("the database may lose what it has acknowledged", "why", fault)
	}
}

// openKeys makes the first token, but never for an address that others can reach: there the operator must create a key before the server
// listens.
func (a *App) openKeys(ctx context.Context) (err error) {
	a.keys = keys.NewVerifier(a.store)
	if a.config.loopback() {
		a.FirstToken, err = keys.FirstToken(ctx, a.store, a.config.tokenFile())
		return err
	}
	some, err := a.store.HasKeys(ctx)
	if err == nil && !some {
		err = usagef("%s can be reached from other machines, and there are no API keys yet.\n"+
			"Create one first: signoff keys create --name me --scopes all", a.config.Addr)
	}
	return err
}

func (a *App) openSandbox(ctx context.Context) (err error) {
	protected := a.config.sandboxConfig(func(text string) string { return a.masker.MaskString(text) })
	protected.Lend = func(path string, content []byte) error { return maskLent(a.masker, path, content) } // nothing runs before there is a masker
	if a.sandbox, err = sandbox.New(ctx, protected); err != nil {
		return usageError{err}
	}
	switch a.sandbox.Name() {
	case sessions.NoSandbox:
		slog.Warn("no sandbox works here, so commands are refused; `signoff doctor` tells why")
	case string(sandbox.KindOff):
		slog.Warn("SIGNOFF_SANDBOX=off: commands run only in environments with isolation: none, and unconfined")
	}
	return nil
}

// Addr is the address that it listens on.
func (a *App) Addr() string { return a.listener.Addr().String() }

// Run serves until ctx ends, then stops everything in an order that loses nothing: streams end with a hint to reconnect, sessions hand off,
// requests end, and only then the log stops. It calls ready when the server takes requests.
func (a *App) Run(ctx context.Context, ready func()) error {
	logs, stopLog := context.WithCancel(context.WithoutCancel(ctx))
	managers, stopManager := context.WithCancel(context.WithoutCancel(ctx))
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var running, logging sync.WaitGroup
	defer logging.Wait()
	defer stopLog()
	defer running.Wait()
	defer stopManager()
	defer stopServing()

	failed := make(chan error, 2)
	started := make(chan struct{})
	logging.Go(func() { a.log.Run(logs) })
	logging.Go(func() { a.outbox.dispatcher.Run(logs) }) // as long as the log: the last events are delivered, too
	running.Go(func() { failed <- a.manager.Run(managers, func() { close(started) }) })
	select {
	case <-started:
	case err := <-failed:
		return err
	}
	running.Go(func() { a.sweeper.Run(managers) })
	running.Go(func() { a.rollbacks.Run(managers) })
	running.Go(func() { a.pruner.Run(managers) })
	running.Go(func() { a.budgets.Run(managers) })
	running.Go(func() { returnMemory(managers, readHeap, debug.FreeOSMemory) })
	served := make(chan error, 1)
	running.Go(func() { served <- a.server.Serve(serving, a.listener) })
	ready()
	leave := a.awaitStop(ctx)
	select {
	case <-leave:
	case err := <-served:
		return errors.Join(err, a.drain())
	case err := <-failed:
		return err
	}
	err := a.drain()
	stopServing()
	return errors.Join(err, <-served)
}

// awaitStop returns a channel that closes when ctx has ended and the drain delay is over. Meanwhile /readyz is 503 and the server still takes
// requests: a load balancer sends them until its next probe.
func (a *App) awaitStop(ctx context.Context) <-chan struct{} {
	leave := make(chan struct{})
	context.AfterFunc(ctx, func() {
		slog.Info("stopping", "serving for", a.config.drainDelay())
		a.server.SetNotReady()
		time.AfterFunc(a.config.drainDelay(), func() { close(leave) })
	})
	return leave
}

// drain ends the streams first, then lets the sessions hand off.
func (a *App) drain() error {
	slog.Info("draining", "live", a.manager.Live())
	failpoint.Hit(failpoint.BeforeDrain)
	a.server.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), a.config.drain())
	defer cancel()
	err := a.manager.Drain(ctx)
	failpoint.Hit(failpoint.AfterDrain)
	return err
}

// Close releases the resources of Open.
func (a *App) Close() error {
	var errs []error
	if a.listener != nil {
		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if a.keys != nil {
		a.keys.Close()
	}
	if a.models != nil {
		a.models.Close()
	}
	if a.agents != nil {
		a.agents.Close()
	}
	if a.credentials != nil {
		a.credentials.Close()
	}
	if a.rollbacks != nil {
		a.rollbacks.Close()
	}
	if a.checkpoints.Service != nil {
		errs = append(errs, a.checkpoints.Close())
	}
	if a.store != nil {
		errs = append(errs, a.store.Close())
	}
	if a.unlock != nil {
		errs = append(errs, a.unlock())
	}
	return errors.Join(errs...)
}

// collectors are the metrics of the engine.
func (a *App) collectors() []prometheus.Collector {
	gauge := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	counter := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read)
	}
	return []prometheus.Collector{
		gauge("signoff_executions_live", "Executions that this replica drives.",
			func() float64 { return float64(a.manager.Live()) }),
		counter("signoff_executions_acquired_total", "Executions that this replica acquired: woken, from the queue, or from another replica.",
			func() float64 { return float64(a.manager.Acquired()) }),
		counter("signoff_executions_refused_total", "Creations that this replica refused since the queue was full.",
			func() float64 { return float64(a.manager.Refused()) }),
		gauge("signoff_commands_running", "Commands that this replica runs.",
			func() float64 { running, _ := a.manager.Commands(); return float64(running) }),
		gauge("signoff_commands_queued", "Commands of this replica that may run and wait for others to end.",
			func() float64 { _, queued := a.manager.Commands(); return float64(queued) }),
		newUndriven(a.store.Undriven),
		counter("signoff_retention_deleted_total", "Executions that this replica has deleted after their retention.",
			func() float64 { return float64(a.sweeper.Removed()) }),
		gauge("signoff_log_queued", "Changes that wait for the committer.",
			func() float64 { return float64(a.log.Stats().Queued) }),
		gauge("signoff_log_topics", "Executions that are followed or driven here.",
			func() float64 { return float64(a.log.Stats().Topics) }),
		counter("signoff_log_commits_total", "Transactions of the log.",
			func() float64 { return float64(a.log.Stats().Commits) }),
		counter("signoff_log_changes_total", "Changes that the transactions of the log held.",
			func() float64 { return float64(a.log.Stats().Changes) }),
		counter("signoff_log_events_total", "Events that the transactions of the log held.",
			func() float64 { return float64(a.log.Stats().Events) }),
		gauge("signoff_notifications_listening", "1 while notifications of other replicas arrive, otherwise 0.",
			func() float64 {
				if a.log.Stats().Listening {
					return 1
				}
				return 0
			}),
		counter("signoff_notifications_sent_total", "Notifications to other replicas.",
			func() float64 { return float64(a.log.Stats().NotificationsSent) }),
		counter("signoff_notifications_received_total", "Notifications from other replicas.",
			func() float64 { return float64(a.log.Stats().NotificationsReceived) }),
		counter("signoff_peer_events_by_notification_total", "Executions in which a notification found events of another replica.",
			func() float64 { return float64(a.log.Stats().FoundByNotification) }),
		counter("signoff_peer_events_by_poll_total", "Executions in which the poll found events of another replica before a notification did.",
			func() float64 { return float64(a.log.Stats().FoundByPoll) }),
	}
}

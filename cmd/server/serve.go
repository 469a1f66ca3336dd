package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"signoff/internal/secrets"
)

// serve runs the server until a signal stops it.
func serve(ctx context.Context, args []string, std stdio) error {
	if err := parse(flags("serve", std), args); err != nil {
		return err
	}
	defer ignoreHangups()()
	config, models, err := settle(std, Config.makeConfigFile)
	if err != nil {
		return err
	}
	app, err := Open(ctx, config, models)
	if err != nil {
		return err
	}
	defer func() {
		if err := app.Close(); err != nil {
			slog.Warn("did not close cleanly", "error", err)
		}
	}()
	return app.Run(ctx, func() { app.welcome(std) })
}

// ignoreHangups keeps SIGHUP from ending the server, until stop is called. Operators and tools expect that a daemon reads its configuration
// again; this server does not.
func ignoreHangups() (stop func()) {
	hangups, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for {
			select {
			case <-hangups:
				slog.Warn("SIGHUP is ignored: to read the configuration again, start the server anew")
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(over)
	}
}

// settle reads the environment and the configuration file, and sets up the log. The steps of prepare run before it reads the file, and may
// write it.
func settle(std stdio, prepare ...func(Config) error) (Config, configFile, error) {
	config, err := readConfig()
	if err != nil {
		return config, configFile{}, err
	}
	config.setLogger(std.err)
	for _, step := range prepare {
		if err := step(config); err != nil {
			return config, configFile{}, err
		}
	}
	file, err := config.readConfigFile()
	if err != nil {
		return config, file, err
	}
	_, masker, err := file.openSecrets(config)
	if err != nil {
		return config, file, err
	}
	maskLog(masker)
	return config, file, nil
}

// setLogger sends the log to out. At first it masks only the database's password and the shapes of keys.
func (c Config) setLogger(out io.Writer) {
	level, err := c.logLevel()
	if err != nil {
		level = slog.LevelInfo // unreachable: the configuration was validated
	}
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewJSONHandler(out, options)
	if c.LogFormat == "text" || (c.LogFormat == "auto" && terminal(out)) {
		handler = slog.NewTextHandler(out, options)
	}
	slog.SetDefault(slog.New(secrets.NewHandler(handler, secrets.NewMasker(c.databasePassword()...))))
}

func terminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// welcome prints the server's address and the next commands.
func (a *App) welcome(std stdio) {
	fmt.Fprintf(std.err, "\nSignoff %s listens on http://%s (sandbox: %s)\n", version, a.Addr(), a.sandbox.Name())
	if !a.config.loopback() {
		fmt.Fprintln(std.err, "A browser finds the console there; it asks for a key.")
		return
	}
	if a.FirstToken {
		fmt.Fprintf(std.err, "The first API token was made; it lies in %s and may do everything.\n", a.config.tokenFile())
	}
	a.showConsole(std)
	fmt.Fprintln(std.err, "\nTry it from another terminal:\n\n"+indent(curls(a.Addr(), a.config.tokenFile()))+"\nStop it with Ctrl-C.")
}

// showConsole says how to open the console. The link contains the token, so only the first start prints it, and only at a terminal: any other
// output may be a log that others read, and gets the command that prints the link.
func (a *App) showConsole(std stdio) {
	command := "signoff console --url http://" + a.Addr()
	if _, port, err := net.SplitHostPort(a.config.Addr); err == nil && port != "0" {
		command = "signoff console"
	}
	token, err := a.config.firstToken("")
	if err != nil || !a.FirstToken || !terminal(std.out) {
		fmt.Fprintf(std.err, "The console, for a browser: %s prints its link.\n", command)
		return
	}
	fmt.Fprintf(std.out, "\nOpen the console in a browser. The link has the token in it; %s prints it again.\n\n  %s\n", command, consoleLink("http://"+a.Addr(), token))
}

// curls are the three routes, ready to paste.
func curls(addr, tokenFile string) string {
	return strings.NewReplacer("ADDR", addr, "TOKENFILE", tokenFile).Replace(
		`export SIGNOFF_URL=http://ADDR SIGNOFF_TOKEN=$(cat TOKENFILE)

# create an execution; the answer has its id
curl -sS $SIGNOFF_URL/executions -H "Authorization: Bearer $SIGNOFF_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{"source": {"type": "internal"}, "prompt": "What does this machine look like?"}'

# follow it live; with the id of the last event in a Last-Event-ID header it goes on from there
curl -sSN $SIGNOFF_URL/executions/EXECUTION_ID/events -H "Authorization: Bearer $SIGNOFF_TOKEN"

# see what waits for you, and decide it
curl -sS $SIGNOFF_URL/approvals -H "Authorization: Bearer $SIGNOFF_TOKEN"
curl -sS $SIGNOFF_URL/approvals/APPROVAL_ID -H "Authorization: Bearer $SIGNOFF_TOKEN" \
  -H 'Content-Type: application/json' -d '{"decision": "approve"}'
`)
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"signoff/internal/domain"
	"signoff/internal/launch"
	"signoff/internal/mcp"
	"signoff/internal/mcp/oauth"
	"signoff/internal/secrets"
	"signoff/internal/store"
)

const mcpUsage = `usage: signoff mcp login NAME [--tenant TENANT] [--scopes SCOPES] [--port PORT] [--no-browser]
       signoff mcp logout NAME [--tenant TENANT]
       signoff mcp list [--tenant TENANT]

login signs in to an MCP server of signoff.yaml that has oauth, for the executions of a tenant.`

// manageMCP works on the database directly, beside a running server: a server uses a new sign-in within seconds.
func manageMCP(ctx context.Context, args []string, std stdio) error {
	do, known := map[string]func(context.Context, []string, stdio) error{
		"login": loginMCP, "logout": logoutMCP, "list": listMCP,
	}[first(args)]
	switch {
	case known:
		return do(ctx, args[1:], std)
	case asksForHelp(args):
		fmt.Fprintln(std.out, mcpUsage)
		return nil
	default:
		return usagef("%s", mcpUsage)
	}
}

func loginMCP(ctx context.Context, args []string, std stdio) error {
	set := flags("mcp login", std)
	tenant := tenantFlag(set, "whose executions use the sign-in")
	scopes := set.String("scopes", "", "what to ask for besides, comma-separated")
	port := set.Int("port", 0, "the port of this machine that the browser comes back to; 0 = any that is free")
	noBrowser := set.Bool("no-browser", false, "open no browser: print the address, and read the one that your browser is sent to")
	name, err := parseName(set, args)
	if err != nil {
		return err
	}
	if *port < 0 || *port > 65535 {
		return usagef("--port is 0 to 65535, not %d", *port)
	}
	m, err := openMCP(ctx, std)
	if err != nil {
		return err
	}
	defer m.close()
	server, known := m.servers.Of(domain.TenantID(*tenant))[name]
	if !known {
		return usagef("tenant %s has no MCP server %q; %s", *tenant, name, launch.ListNames(slices.Collect(maps.Keys(m.servers.Of(domain.TenantID(*tenant))))))
	}
	login := oauth.Login{
		Tenant: domain.TenantID(*tenant), Name: name, Server: server, Port: *port, Scopes: listed(*scopes), Show: func(address string) error { return showPage(address, std) },
	}
	if *noBrowser {
		login.Pasted, login.Show = std.in, func(address string) error { return printPage(address, std) }
	}
	done, err := m.credentials.Login(ctx, login)
	if err != nil {
		return fmt.Errorf("the sign-in to %s has not worked: %w", name, err)
	}
	fmt.Fprintf(std.err, "Signed in to %s at %s, with %s. Running servers use it within seconds.\n", name, done.Issuer, scopesOf(done))
	if !done.Renewed && !done.Expires.IsZero() {
		fmt.Fprintf(std.err, "The authorization server gave no refresh token, so the sign-in ends at %s.\n", done.Expires.Local().Format(time.DateTime))
	}
	return nil
}

func listed(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

func scopesOf(s oauth.SignIn) string {
	if len(s.Scopes) == 0 {
		return "no scopes"
	}
	return "the scopes " + strings.Join(s.Scopes, ", ")
}

// showPage opens a browser. Where none opens, the person does it by hand.
func showPage(address string, std stdio) error {
	fmt.Fprintln(std.err, "Sign in on the page that your browser opens. If it opens none, open this address on this machine, or use --no-browser:")
	if _, err := fmt.Fprintln(std.out, address); err != nil {
		return err
	}
	_ = openBrowser(address)
	return nil
}

func printPage(address string, std stdio) error {
	fmt.Fprintln(std.err, "Open this address in a browser, on any machine, and sign in:")
	if _, err := fmt.Fprintln(std.out, address); err != nil {
		return err
	}
	fmt.Fprintln(std.err, "The browser then goes to an address that begins with http://127.0.0.1 and may find nothing there. Paste that address here, and press Enter:")
	return nil
}

// openBrowser starts the program of the desktop that opens addresses. It gets none of the server's own variables: the key of the tokens is one.
func openBrowser(address string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return err
	}
	command := exec.Command(path, address)
	command.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, prefix+"_") })
	if err := command.Start(); err != nil {
		return err
	}
	go func() { _ = command.Wait() }()
	return nil
}

func logoutMCP(ctx context.Context, args []string, std stdio) error {
	set := flags("mcp logout", std)
	tenant := tenantFlag(set, "whose sign-in")
	name, err := parseName(set, args)
	if err != nil {
		return err
	}
	m, err := openMCP(ctx, std)
	if err != nil {
		return err
	}
	defer m.close()
	err = m.credentials.Logout(ctx, domain.TenantID(*tenant), name)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return fmt.Errorf("tenant %s is not signed in to %q", *tenant, name)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.err, "The tokens for %s are deleted; running servers stop using them within seconds. The authorization server still knows them: end them there, too.\n", name)
	return err
}

func listMCP(ctx context.Context, args []string, std stdio) error {
	set := flags("mcp list", std)
	tenant := tenantFlag(set, "whose sign-ins")
	if err := parse(set, args); err != nil {
		return err
	}
	m, err := openMCP(ctx, std)
	if err != nil {
		return err
	}
	defer m.close()
	signIns, err := m.credentials.List(ctx, domain.TenantID(*tenant))
	if err != nil {
		return err
	}
	missing := m.servers.Of(domain.TenantID(*tenant))
	maps.DeleteFunc(missing, func(_ string, server mcp.Server) bool {
		return server.OAuth == nil || server.OAuth.Grant == mcp.GrantClientCredentials
	})
	table := tabwriter.NewWriter(std.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tTOKEN UNTIL\tCHANGED\tAUTHORIZATION SERVER\tCLIENT\tSCOPES")
	for _, s := range signIns {
		var until *time.Time
		if !s.Expires.IsZero() {
			until = &s.Expires
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Server, s.State(time.Now()), day(until), day(&s.Updated), s.Issuer, s.ClientID, strings.Join(s.Scopes, ","))
		delete(missing, s.Server)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		fmt.Fprintf(table, "%s\tnot signed in\t-\t-\t-\t-\t-\n", name)
	}
	return table.Flush()
}

// mcpCommand is what the sub-commands of mcp work with.
type mcpCommand struct {
	store       *store.Store
	servers     *mcp.Catalog
	credentials *oauth.Credentials
}

func openMCP(ctx context.Context, std stdio) (*mcpCommand, error) {
	config, file, err := settle(std)
	if err != nil {
		return nil, err
	}
	servers, err := file.openMCPServers()
	if err != nil {
		return nil, err
	}
	s, err := config.openMigrated(ctx)
	if err != nil {
		return nil, err
	}
	credentials, err := config.openCredentials(s, logMasker())
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &mcpCommand{s, servers, credentials}, nil
}

func (m *mcpCommand) close() {
	m.credentials.Close()
	_ = m.store.Close()
}

// openCredentials opens the sign-ins at MCP servers. The masker learns each token before it is used.
func (c Config) openCredentials(s *store.Store, masker *secrets.Masker) (*oauth.Credentials, error) {
	keys, err := c.encryptionKeys()
	if err != nil {
		return nil, err
	}
	return oauth.NewCredentials(oauth.Config{Rows: s, Keys: keys, HTTP: mcp.HTTPClient, Lookup: os.LookupEnv, Learn: masker.Learn}), nil
}

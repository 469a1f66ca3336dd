package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/store"
)

const keysUsage = `usage: signoff keys create --name NAME --scopes SCOPES [--tenant TENANT] [--expires 720h]
       signoff keys list [--tenant TENANT]
       signoff keys revoke [--tenant TENANT] KEY_ID

SCOPES is a comma-separated list, or "all":`

// manageKeys works on the database directly, beside a running server: a revoked key stops within seconds.
func manageKeys(ctx context.Context, args []string, std stdio) error {
	do, known := map[string]func(context.Context, []string, stdio) error{
		"create": createKey, "list": listKeys, "revoke": revokeKey,
	}[first(args)]
	usage := keysUsage + "\n  " + strings.Join(allScopes(), "\n  ")
	switch {
	case known:
		return do(ctx, args[1:], std)
	case asksForHelp(args):
		fmt.Fprintln(std.out, usage)
		return nil
	default:
		return usagef("%s", usage)
	}
}

func allScopes() []string {
	var names []string
	for _, scope := range keys.Scopes {
		names = append(names, string(scope))
	}
	return names
}

func createKey(ctx context.Context, args []string, std stdio) error {
	set := flags("keys create", std)
	name := set.String("name", "", "whose key it is; decisions are shown under it")
	scopes := set.String("scopes", "", `what it may do, comma-separated, or "all"`)
	tenant := tenantFlag(set, "whose executions it sees")
	lifetime := set.Duration("expires", 0, "how long it holds, like 720h; 0 = for ever")
	if err := parse(set, args); err != nil {
		return err
	}
	params := keys.CreateParams{Tenant: domain.TenantID(*tenant), Name: *name, Scopes: strings.Split(*scopes, ",")}
	if *scopes == "all" {
		params.Scopes = allScopes()
	}
	switch {
	case *lifetime < 0:
		return usagef("--expires is a time from now on, like 720h")
	case *lifetime > 0:
		expires := time.Now().UTC().Add(*lifetime)
		params.Expires = &expires
	}
	s, err := openMigrated(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	token, key, err := keys.Create(ctx, s, params)
	if domain.CodeOf(err) == domain.CodeInvalid {
		return usagef("%s", domain.FailureOf(err).Message)
	}
	if err != nil {
		return err
	}
	if err := s.AppendAudit(ctx, params.Tenant, audit.Key("key.created", key.ID, key.Name, key.Scopes)); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "Key %s for %s may %s. Its token is shown this once:\n", key.ID, key.Name, strings.Join(key.Scopes, ", "))
	_, err = fmt.Fprintln(std.out, token)
	return err
}

func listKeys(ctx context.Context, args []string, std stdio) error {
	set := flags("keys list", std)
	tenant := tenantFlag(set, "whose keys")
	if err := parse(set, args); err != nil {
		return err
	}
	s, err := openMigrated(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	all, err := s.Keys(ctx, domain.TenantID(*tenant))
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(std.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tSTATE\tCREATED\tEXPIRES\tLAST USED\tSCOPES")
	for _, key := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", key.ID, key.Name, keyState(key), day(&key.Created),
			day(key.Expires), day(key.LastUsed), strings.Join(key.Scopes, ","))
	}
	return table.Flush()
}

func keyState(key store.Key) string {
	switch {
	case key.Revoked != nil:
		return "revoked"
	case key.Expires != nil && time.Now().After(*key.Expires):
		return "expired"
	default:
		return "good"
	}
}

func day(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format("2006-01-02 15:04")
}

func revokeKey(ctx context.Context, args []string, std stdio) error {
	set := flags("keys revoke", std)
	tenant := tenantFlag(set, "whose key")
	if err := set.Parse(args); err != nil {
		return usageError{err}
	}
	if set.NArg() != 1 {
		return usagef("signoff keys revoke takes the id of one key")
	}
	s, err := openMigrated(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.RevokeKey(ctx, domain.TenantID(*tenant), set.Arg(0)); err != nil {
		return err
	}
	if err := s.AppendAudit(ctx, domain.TenantID(*tenant), audit.Key("key.revoked", set.Arg(0), "", nil)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.err, "Key %s is revoked; running servers stop taking it within seconds.\n", set.Arg(0))
	return err
}

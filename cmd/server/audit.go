package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

const auditUsage = `usage: signoff audit verify [--tenant TENANT] [--keep SEQ:HASH]

Reads the audit from its first entry on and checks that nothing was changed, moved, hidden, removed or put in between. It
prints the head of each chain. Keep that somewhere else, and give it with --keep the next time: only an earlier head finds an audit that
was rewritten as a whole.`

// manageAudit works on the database directly, beside a running server.
func manageAudit(ctx context.Context, args []string, std stdio) error {
	if asksForHelp(args) {
		fmt.Fprintln(std.out, auditUsage)
		return nil
	}
	if first(args) != "verify" {
		return usagef("%s", auditUsage)
	}
	set := flags("audit verify", std)
	tenant := set.String("tenant", "", "whose audit; all without it")
	kept := set.String("keep", "", "an earlier head, as SEQ:HASH; with --tenant")
	if err := parse(set, args[1:]); err != nil {
		return err
	}
	heads, err := parseKept(*kept, *tenant)
	if err != nil {
		return err
	}
	s, err := openMigrated(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	tenants := []domain.TenantID{domain.TenantID(*tenant)}
	if *tenant == "" {
		if tenants, err = s.AuditTenants(ctx); err != nil {
			return err
		}
	}
	return verifyAll(ctx, s, tenants, heads, std)
}

func parseKept(text, tenant string) ([]audit.Head, error) {
	if text == "" {
		return nil, nil
	}
	seq, hash, _ := strings.Cut(text, ":")
	number, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || number < 1 || hash == "" {
		return nil, usagef("--keep is SEQ:HASH, as signoff audit verify prints it")
	}
	if tenant == "" {
		return nil, usagef("--keep is the head of one tenant's audit; name it with --tenant")
	}
	return []audit.Head{{Seq: number, Hash: hash}}, nil
}

// verifyAll goes on behind a broken chain: the others want to be known, too.
func verifyAll(ctx context.Context, s *store.Store, tenants []domain.TenantID, kept []audit.Head, std stdio) error {
	if len(tenants) == 0 {
		fmt.Fprintln(std.out, "The audit is empty.")
	}
	var found error
	for _, tenant := range tenants {
		head, err := audit.Verify(ctx, s, tenant, kept...)
		var broken *audit.BrokenError
		switch {
		case errors.As(err, &broken):
			fmt.Fprintf(std.out, "BROKEN  %s  %v\n", tenant, err)
			found = errors.New("the audit is not what it was")
		case err != nil:
			return err
		default:
			fmt.Fprintf(std.out, "ok      %s  entries: %d, head %d:%s\n", tenant, head.Seq, head.Seq, head.Hash)
		}
	}
	return found
}

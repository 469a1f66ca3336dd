package migrations

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// The engines have the same tables with the same columns, and the same checks and indexes.
func TestSameSchema(t *testing.T) {
	if diff := cmp.Diff(schema(t, "sqlite"), schema(t, "postgres")); diff != "" {
		t.Error(diff)
	}
}

// The checks of the schema and the constants of the domain agree: a status that Go knows can be stored, and no other.
func TestStatusesAreThoseOfTheDomain(t *testing.T) {
	statuses := [][]string{
		names(domain.Statuses...),
		names(domain.ApprovalPending, domain.ApprovalApproved, domain.ApprovalDenied, domain.ApprovalExpired, domain.ApprovalCancelled),
	}
	states := [][]string{
		{"queued", "started", "discarded"}, // of prompts, which only the store knows
		names(domain.ClientCallWaiting, domain.ClientCallAnswered, domain.ClientCallExpired, domain.ClientCallCancelled),
		names(domain.GenerationSubmitted, domain.GenerationAccepted, domain.GenerationSuperseded, domain.GenerationCancelled),
		{"pending", "delivered", "failed"}, // of deliveries, which only the store knows
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		for column, want := range map[string][][]string{"status": statuses, "state": states} {
			if diff := cmp.Diff(want, checks(t, engine, column)); diff != "" {
				t.Errorf("%s, %s: %s", engine, column, diff)
			}
		}
	}
}

func names[T ~string](values ...T) (all []string) {
	for _, value := range values {
		all = append(all, string(value))
	}
	return all
}

// checks is what the columns of that name may hold, in the order of their tables.
func checks(t *testing.T, engine, column string) (all [][]string) {
	t.Helper()
	for _, check := range regexp.MustCompile(`check \(`+column+` in \(([^)]*)\)\)`).FindAllStringSubmatch(text(t, engine), -1) {
		all = append(all, regexp.MustCompile(`\w+`).FindAllString(check[1], -1))
	}
	return all
}

func text(t *testing.T, engine string) string {
	t.Helper()
	names, err := fs.Glob(Files, engine+"/*.up.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var all strings.Builder
	for _, name := range names {
		content, err := fs.ReadFile(Files, name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return regexp.MustCompile(`--.*`).ReplaceAllString(all.String(), "")
}

// schema is the statements of an engine without what they may differ in.
func schema(t *testing.T, engine string) []string {
	t.Helper()
	all := text(t, engine)
	for _, differs := range []struct{ from, to string }{
		{`create function [^;$]*(\$\$(?s:.*?)\$\$)?;`, ``}, {`create trigger [^;]*;(\nend;)?`, ``},
		{`create view [^;]*;`, ``},
		{`integer primary key autoincrement`, `integer generated always as identity`}, // SQLite counts nothing but keys of rows
		{`unique \(tenant_id, key, position\)`, `primary key (tenant_id, key, position)`},
		{`\bjson_build_object\b`, `json_object`}, {`\bbigint\b`, `integer`}, {`\bbytea\b`, `blob`}, {` collate "C"`, ``},
		{`\) strict, without rowid;|\) strict;|\) with \(.*\);`, `);`}, {`\s+`, ` `}, {` ?([(),]) ?`, `$1`},
	} {
		all = regexp.MustCompile(differs.from).ReplaceAllString(all, differs.to)
	}
	var statements []string
	for statement := range strings.SplitSeq(all, ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			statements = append(statements, statement)
		}
	}
	return statements
}

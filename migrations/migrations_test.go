package migrations

import (
	"io/fs"
	"regexp"
	"slices"
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
	for _, engine := range []string{"sqlite", "postgres"} {
		checks := regexp.MustCompile(`check \(status in \(([^)]*)\)\)`).FindAllStringSubmatch(text(t, engine), -1)
		if len(checks) != 2 {
			t.Fatalf("%s: %d checks", engine, len(checks))
		}
		var statuses []string
		for _, status := range domain.Statuses {
			statuses = append(statuses, string(status))
		}
		approvals := []string{string(domain.ApprovalPending), string(domain.ApprovalApproved), string(domain.ApprovalDenied),
			string(domain.ApprovalExpired), string(domain.ApprovalCancelled)}
		for i, want := range [][]string{statuses, approvals} {
			got := regexp.MustCompile(`\w+`).FindAllString(checks[i][1], -1)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", engine, got, want)
			}
		}
	}
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

package migrations

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
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

// The checks of the schema and the constants of the domain agree: a status that Go knows can be stored, and no other. The statuses of executions have
// had no check since version 14.
func TestStatusesAreThoseOfTheDomain(t *testing.T) {
	statuses := [][]string{
		names(domain.ApprovalPending, domain.ApprovalApproved, domain.ApprovalDenied, domain.ApprovalExpired, domain.ApprovalCancelled),
	}
	states := [][]string{
		{"queued", "started", "discarded"}, // of prompts, which only the store knows
		names(domain.ClientCallWaiting, domain.ClientCallAnswered, domain.ClientCallExpired, domain.ClientCallCancelled),
		names(domain.GenerationSubmitted, domain.GenerationAccepted, domain.GenerationSuperseded, domain.GenerationCancelled),
		{"pending", "delivered", "failed"}, // of deliveries, which only the store knows
		names(domain.RollbackRequested, domain.RollbackRunning, domain.RollbackDone, domain.RollbackFailed),
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
	without := regexp.MustCompile(`(?s)create table executions \(.*?;|update sqlite_schema [^;]*;`).ReplaceAllString(text(t, engine), "")
	for _, check := range regexp.MustCompile(`check \(`+column+` in \(([^)]*)\)\)`).FindAllStringSubmatch(without, -1) {
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
		// A check goes by a statement on Postgres, and by an edit of the definition on SQLite.
		{`alter table \w+ drop constraint \w+;`, ``},
		{`(pragma writable_schema|update sqlite_schema|create table findings_|insert into findings_|drop table findings_)[^;]*;`, ``},
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

// A binary of the version before goes on, and is started again, on a schema that a newer one has made: so a migration only adds, or
// says by the floor that it does not.
func TestMigrationsOnlyAdd(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		for version, content := range versions(t, engine) {
			raises := strings.Contains(content, fmt.Sprintf("update schema_floor set version = %d;", version))
			if added := onlyAdds(content); version > 4 && added != "" && !raises {
				t.Errorf("%s, version %d: a binary of the version before may not live with %q. Add instead, or end the file with "+
					"`update schema_floor set version = %d;`", engine, version, added, version)
			}
		}
	}
}

func TestWhatOnlyAdds(t *testing.T) {
	for statement, adds := range map[string]bool{
		"create table t (a bigint not null)":                              true,
		"create index i on t (a)":                                         true,
		"create unique index i on t (a)":                                  false,
		"create unique index i on t (a) where a is not null":              false,
		"create table t (a bigint); create unique index i on t (a)":       true,
		"create table u (a bigint); create unique index i on t (a)":       false,
		"alter table t add column b text; create unique index i on t (a)": false,
		"alter table t add column a text; alter table t add column b text not null default ''; " +
			"create unique index i on t (b, a) where a is not null and c is null": true,
		"alter table t add column a text not null default ''; create unique index i on t (a) where a is not null": false,
		"create view v as select 1":         true,
		"drop index i":                      true,
		"drop table t":                      false,
		"alter table t add column a bigint": true,
		"alter table t add column a bigint not null default 0": true,
		"alter table t add column a bigint not null":           false,
		"alter table t drop column a":                          false,
		"alter table t rename column a to b":                   false,
		"update t set a = 1":                                   false,
		`update api_keys set scopes = replace(scopes, '"a:b"', '"a:b","c:d"') where scopes like '%"a:b"%'`:              true,
		`update api_keys set scopes = replace(scopes, '"a:b"', '') where scopes like '%"a:b"%'`:                         false,
		"insert into schema_floor (version) values (4)":                                                                 true,
		"create function f() returns trigger as $$ begin drop table t; end $$":                                          true,
		"create table t (a text -- not null; drop table x\n)":                                                           true,
		"alter table t drop constraint t_a_check":                                                                       true,
		"alter table t drop constraint t_pkey":                                                                          false,
		"update sqlite_schema set sql = replace(sql, ' check (a in (''b''))', '') where type = 'table' and name = 't'":  true,
		"update sqlite_schema set sql = replace(sql, ' not null', '') where type = 'table' and name = 't'":              false,
		"update sqlite_schema set sql = replace(sql, ' check (a in (''b''))', 'x') where type = 'table' and name = 't'": false,
		"insert into findings_0014 select 1; drop table findings_0014":                                                  true,
		"create index i on t (a); alter table t alter column a type text; select 1":                                     false,
	} {
		if got := onlyAdds(statement+";") == ""; got != adds {
			t.Errorf("%s: %v", statement, got)
		}
	}
}

var adding = []*regexp.Regexp{
	regexp.MustCompile(`^create (table|index|view|function|trigger) `),
	regexp.MustCompile(`^end$`), // of the body of a trigger
	regexp.MustCompile(`^alter table \w+ add column `),
	regexp.MustCompile(`^drop index `),
	regexp.MustCompile(`^insert into schema_floor `),
	// A check that goes refuses nothing any more.
	regexp.MustCompile(`^alter table \w+ drop constraint \w+_check$`),
	regexp.MustCompile(`^update sqlite_schema set sql = replace\(sql, ' check \((''|[^'])*', ''\) where type = 'table' and name = '\w+'$`),
	// A scope more is nothing to a binary that does not know it.
	regexp.MustCompile(`^update api_keys set scopes = replace\(scopes, ('"[a-z:]+"'), ('"[a-z:]+","[a-z:]+"')\) where scopes like '[^']*'$`),
	regexp.MustCompile(`^pragma writable_schema = (on|reset)$`),
	regexp.MustCompile(`^(insert into|drop table) findings_\d+\b`), // what the migration has found out about itself
}

// A unique index refuses nothing to a binary that leaves all rows out of it, or does not know its table.
var (
	newTable    = regexp.MustCompile(`^create table (\w+) `)
	uniqueOn    = regexp.MustCompile(`^create unique index \w+ on (\w+) `)
	nullable    = regexp.MustCompile(`^alter table \w+ add column (\w+) \w+$`)
	uniqueWhere = regexp.MustCompile(`^create unique index .* where (\w+) is not null( and \w+ is (not )?null)*$`)
)

// onlyAdds returns the first statement that does more than add; nothing where there is none.
func onlyAdds(content string) string {
	content = regexp.MustCompile(`--.*`).ReplaceAllString(content, "")
	content = regexp.MustCompile(`\$\$(?s:.*?)\$\$`).ReplaceAllString(content, "")
	var leavesOut []string // columns that a binary of the version before leaves null
	var unknown []string   // tables that it does not know
	for statement := range strings.SplitSeq(content, ";") {
		statement = strings.Join(strings.Fields(statement), " ")
		if column := nullable.FindStringSubmatch(statement); column != nil {
			leavesOut = append(leavesOut, column[1])
		}
		if table := newTable.FindStringSubmatch(statement); table != nil {
			unknown = append(unknown, table[1])
		}
		if unique := uniqueOn.FindStringSubmatch(statement); unique != nil && slices.Contains(unknown, unique[1]) {
			continue
		}
		if unique := uniqueWhere.FindStringSubmatch(statement); unique != nil && slices.Contains(leavesOut, unique[1]) {
			continue
		}
		known := slices.ContainsFunc(adding, func(kind *regexp.Regexp) bool { return kind.MatchString(statement) })
		demands := strings.HasPrefix(statement, "alter ") && strings.Contains(statement, "not null") && !strings.Contains(statement, " default ")
		if statement != "" && (!known || demands) {
			return statement
		}
	}
	return ""
}

// versions are the files of an engine by their numbers, which each one has for itself: with two of the same no database can be opened.
func versions(t *testing.T, engine string) map[int]string {
	t.Helper()
	names, err := fs.Glob(Files, engine+"/*.up.sql")
	if err != nil || len(names) < 7 {
		t.Fatal(names, err)
	}
	all := map[int]string{}
	for _, name := range names {
		content, err := fs.ReadFile(Files, name)
		if err != nil {
			t.Fatal(err)
		}
		version, err := strconv.Atoi(strings.TrimPrefix(name, engine+"/")[:4])
		if err != nil {
			t.Fatal(err)
		}
		if _, taken := all[version]; taken {
			t.Fatalf("%s has the number of another migration", name)
		}
		all[version] = string(content)
	}
	return all
}

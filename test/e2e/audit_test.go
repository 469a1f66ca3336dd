package e2e

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuditShowsTampering: whoever may write to the database can take off the triggers and change the past; the chain
// shows it.
func TestAuditShowsTampering(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"changed": `update audit set record = replace(record, 'not on a Friday', 'yes, of course') where record like '%not on a Friday%'`,
		"removed": `delete from audit where seq = 2`,
		"cut off": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := up(t, engine{}, newModel(t, once("touch never.txt")))
			id := s.create().ID
			s.decide(s.pending(id), object{"decision": "deny", "reason": "not on a Friday"})
			s.ended(id)
			s.stop()
			out, errOut, code := s.command("audit", "verify")
			if code != 0 || !strings.HasPrefix(out, "ok ") {
				t.Fatalf("before: exit %d: %s%s", code, out, errOut)
			}
			args := []string{"audit", "verify"}
			if statement == "" { // the newest entries are gone; only a head that was kept elsewhere tells
				fields := strings.Fields(out)
				args = append(args, "--tenant", fields[1], "--keep", fields[len(fields)-1])
				statement = `delete from audit where seq = (select max(seq) from audit)`
			}
			s.tamper(statement)
			if out, errOut, code := s.command(args...); code != 1 || !strings.HasPrefix(out, "BROKEN") {
				t.Errorf("after: exit %d: %s%s", code, out, errOut)
			}
		})
	}
}

// tamper changes the audit of a server that is down. The database itself refuses, until its triggers are taken off.
func (s *server) tamper(statement string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.data(), "signoff.db"))
	must(s.t, err)
	defer db.Close()
	if _, err := db.Exec(statement); err == nil {
		s.t.Error("the database lets the audit be changed")
	}
	for _, trigger := range []string{"audit_is_kept", "audit_is_not_emptied"} {
		_, err := db.Exec("drop trigger " + trigger)
		must(s.t, err)
	}
	result, err := db.Exec(statement)
	must(s.t, err)
	if changed, _ := result.RowsAffected(); changed == 0 {
		s.t.Error("nothing was changed")
	}
}

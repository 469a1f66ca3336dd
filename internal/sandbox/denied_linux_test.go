package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
)

// secretive makes a workspace with a folder that is denied, and links to it.
func secretive(t testing.TB) string {
	t.Helper()
	dir := folder(t)
	secretiveIn(t, dir)
	return dir
}

func secretiveIn(t testing.TB, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "a/secret/n"), "canary")
	write(t, filepath.Join(dir, "a/secret/deep/n"), "canary")
	write(t, filepath.Join(dir, "plain"), "plain")
	must(t, os.Symlink("a/secret", filepath.Join(dir, "sl")))
	must(t, os.Symlink("a/secret/n", filepath.Join(dir, "file")))
	must(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "up")))
}

// contents lists the files in a folder with what they hold.
func contents(t testing.TB, dir string) (all string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			all += strings.TrimPrefix(path, dir) + ": " + content(t, path) + "\n"
		}
		return err
	}))
	return all
}

// evasions write to a/secret, or try to, in ways that a line shows and in ways that it does not show.
var evasions = map[string]string{
	"by its name":                      "echo evil > a/secret/n",
	"by a link to the folder":          "echo evil > sl/n",
	"a new file by the link":           "echo evil > sl/new",
	"by a link to the file":            "echo evil > file",
	"by a link above":                  "echo evil > up/secret/n",
	"by a link of the same line":       "ln -s a/secret mine; echo evil > mine/n",
	"by a link of the same line, deep": "ln -s a mine; mkdir b; ln -s ../mine/secret b/x; echo evil > b/x/deep/n",
	"by a program":                     "$ATTACK __attack write a/secret/n",
	"by a program, by a link":          "$ATTACK __attack write sl/n",
	"by Python":                        `python3 -c 'import os; os.symlink("a/secret", "p"); open("p/n", "w").write("evil")'`,
	"by a script":                      `printf 'cd s""l; echo evil > n' > s.sh; sh s.sh`,
	"by a hard link":                   "ln a/secret/n hard; echo evil > hard",
	"by moving the folder away":        "mv a/secret b; mkdir a/secret; echo evil > b/n",
	"by moving the folder above":       "mv a b; echo evil > b/secret/n",
	"by removing it":                   "rm -rf a/secret a sl; mkdir -p a/secret; echo evil > a/secret/n",
	"by moving a file over it":         "echo evil > x; mv x a/secret/n; cp plain a/secret/deep/n; install plain a/secret/n",
	"by its name in proc":              "echo evil > /proc/self/cwd/a/secret/n; echo evil > /proc/self/root$PWD/sl/n; echo evil > /proc/1/root$PWD/a/secret/n",
	"by mounting":                      "umount a/secret; mount -o remount,rw a/secret; unshare -m -r umount a/secret; unshare -r -m mount --bind plain a/secret/n; echo evil > a/secret/n",
	"by a descriptor":                  "exec 9< a; cd /tmp; echo evil > /dev/fd/9/secret/n",
	"by truncating, and by its mode":   "chmod -R 777 a; truncate -s 0 a/secret/n; touch a/secret/new; chmod 777 a/secret/n",
	"in the background":                "(setsid sh -c 'echo evil > sl/n' &) ; sleep 0.3",
}

// evade makes all attempts in one command, each in a folder of its own, and returns those that have changed what is denied, or all
// of it where nothing is denied.
func evade(t *testing.T, s *Sandbox, deny bool, hidden bool) (changed map[string]string) {
	t.Helper()
	dir := folder(t)
	command := domain.Command{Dir: dir, Timeout: ample, Env: []string{"ATTACK=" + attacker(t, dir)}}
	before, script := map[string]string{}, ""
	for name, attempt := range evasions {
		own := filepath.Join(dir, name)
		secretiveIn(t, own)
		before[name] = denied(t, own)
		must(t, os.WriteFile(own+".sh", []byte(attempt), 0o600))
		script += fmt.Sprintf("cd '%s' && sh '../%s.sh'; cd %s\n", name, name, dir)
		if deny {
			one := domain.Denied{Path: filepath.Join(own, "a/secret"), Hidden: hidden}
			must(t, s.Keeps(t.Context(), dir, domain.Environment{}, one))
			command.Denied = append(command.Denied, one)
		}
	}
	command.Argv = []string{"sh", "-c", script}
	output, _ := run(t, s, command)
	t.Log(output)
	changed = map[string]string{}
	for name := range evasions {
		if after := denied(t, filepath.Join(dir, name)); after != before[name] {
			changed[name] = after
		}
	}
	return changed
}

// denied is what the denied folder holds, and that it is there.
func denied(t *testing.T, own string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(own, "a/secret")); err != nil {
		return "it is gone"
	}
	return contents(t, filepath.Join(own, "a/secret"))
}

// TestDeniedIsNotWritten: whatever a command does, a folder that it must not write stays as it is, and so does one that it must not read.
func TestDeniedIsNotWritten(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		for _, hidden := range []bool{false, true} {
			for name, after := range evade(t, s, true, hidden) {
				t.Errorf("%s (hidden: %v): %s", name, hidden, after)
			}
		}
	})
}

// TestEvasionsWork makes sure of the attempts themselves: what nothing keeps away does change the folder.
func TestEvasionsWork(t *testing.T) {
	changed := evade(t, open(byNamespaces), false, false)
	_, noPython := os.Stat("/usr/bin/python3")
	for name := range evasions {
		if _, works := changed[name]; !works && (name != "by Python" || noPython == nil) {
			t.Errorf("%s: nothing was changed, so it proves nothing", name)
		}
	}
}

// TestHiddenIsNotRead: what is denied to readers shows by no name.
func TestHiddenIsNotRead(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := secretive(t)
		script := `cat a/secret/n sl/n file up/secret/n; ln -s a/secret mine; cat mine/*; ls -RA a sl/; grep -r canary .; cp -r a copy; cat copy/secret/n
			mv a b; cat b/secret/n; tar c . | grep -a canary; cat < a/secret/n; ln a/secret/n hard; cat hard; cat /proc/self/root$PWD/a/secret/n`
		denied := []domain.Denied{{Path: filepath.Join(dir, "a/secret"), Hidden: true}, {Path: filepath.Join(dir, "plain"), Hidden: true}}
		output, _ := run(t, s, domain.Command{Argv: []string{"sh", "-c", script + "; cat plain"}, Dir: dir, Timeout: ample, Denied: denied})
		if strings.Contains(output, "canary\n") || strings.Contains(output, "canarycanary") || strings.Contains(output, "deep") || strings.Contains(output, "plain\n") {
			t.Errorf("it was read:\n%s", output)
		}
		denied[0].Hidden = false
		output, _ = run(t, s, domain.Command{Argv: []string{"sh", "-c", "cat sl/n; echo evil > sl/n"}, Dir: dir, Timeout: ample, Denied: denied})
		if !strings.HasPrefix(output, "canary") {
			t.Errorf("what is denied to writers cannot be read: %s", output)
		}
	})
}

// TestDeniedAroundTheWorkspace: a rule about all of the workspace lets commands look, and one about the system hides that.
func TestDeniedAroundTheWorkspace(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := secretive(t)
		before := contents(t, dir)
		for _, path := range []string{dir, filepath.Dir(dir), "/"} {
			denied := []domain.Denied{{Path: path}, {Path: filepath.Join(dir, "a/secret"), Hidden: true}}
			must(t, s.Keeps(t.Context(), dir, domain.Environment{}, denied[0]))
			output, _ := run(t, s, domain.Command{Argv: []string{"sh", "-c", "cat plain; echo x > new; echo x > plain; rm -rf *; echo fine > /tmp/x; cat /tmp/x; cat sl/n"},
				Dir: dir, Timeout: ample, Denied: denied})
			if contents(t, dir) != before || !strings.HasPrefix(output, "plain") || !strings.Contains(output, "fine") || strings.Contains(output, "canary") {
				t.Errorf("%s: %s\n%s", path, output, contents(t, dir))
			}
		}
		system := []domain.Denied{{Path: "/etc", Hidden: true}, {Path: "/usr/local", Hidden: true}, {Path: "/opt/x", Hidden: true}, {Path: "/usr/lib/missing", Hidden: true}}
		for _, one := range system {
			must(t, s.Keeps(t.Context(), dir, domain.Environment{}, one))
		}
		output, result := run(t, s, domain.Command{Argv: []string{"sh", "-c", "ls -A /etc /usr/local; echo x > ok"}, Dir: dir, Timeout: ample, Denied: system})
		if output != "/etc:\n\n/usr/local:\n" || result.ExitCode != 0 {
			t.Errorf("the system shows: %s", output)
		}
	})
}

// TestWhatCannotBeKept: where nothing can be mounted, somebody is asked; and a command that was not asked about does not begin.
func TestWhatCannotBeKept(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := secretive(t)
		elsewhere := folder(t)
		must(t, os.Symlink(filepath.Join(dir, "a"), filepath.Join(elsewhere, "in")))
		must(t, os.Symlink("/nowhere/at/all", filepath.Join(elsewhere, "dangling")))
		must(t, os.Mkdir(filepath.Join(dir, "twice"), 0o755))
		must(t, os.Link(filepath.Join(dir, "plain"), filepath.Join(dir, "twice/plain")))
		for path, want := range map[string]struct{ writing, reading error }{
			dir + "/a/secret":         {},
			dir + "/a/secret/n":       {},
			dir + "/missing":          {errMissing, errMissing},
			dir + "/missing/deep":     {errMissing, errMissing},
			dir + "/plain/below":      {errMissing, errMissing},
			dir + "/sl":               {errOverLink, errOverLink},
			dir + "/sl/n":             {errOverLink, errOverLink},
			dir + "/file":             {errOverLink, errOverLink},
			dir:                       {nil, errWorkspace},
			filepath.Dir(dir):         {nil, errWorkspace},
			"/":                       {nil, errWorkspace},
			dir + "-twin":             {},
			elsewhere:                 {},
			elsewhere + "/missing":    {},
			elsewhere + "/in/secret":  {errOverLink, errOverLink},
			elsewhere + "/dangling/x": {errOverLink, errOverLink},
			"/usr":                    {nil, errNeeded},
			"/bin/sh":                 {nil, errOverLink},
			"/proc/meminfo":           {nil, errNeeded},
			"/dev":                    {nil, errNeeded},
			"/etc/passwd":             {},
			dir + "/twice":            {errManyNames, errManyNames},
			dir + "/plain":            {errManyNames, errManyNames},
		} {
			for hidden, want := range map[bool]error{false: want.writing, true: want.reading} {
				denied := domain.Denied{Path: path, Hidden: hidden}
				if got := s.Keeps(t.Context(), dir, domain.Environment{}, denied); !errors.Is(got, want) {
					t.Errorf("%+v: %v, want %v", denied, got, want)
				}
				if want == nil || errors.Is(want, errManyNames) { // the mounts themselves can be made
					continue
				}
				_, err := s.Run(t.Context(), domain.Command{Argv: []string{"touch", "begun"}, Dir: dir, Denied: []domain.Denied{denied}}, io.Discard)
				if _, begun := os.Stat(dir + "/begun"); domain.CodeOf(err) != domain.CodePolicyDenied || begun == nil {
					t.Errorf("%+v: %v, begun: %v", denied, err, begun)
				}
			}
		}
		late, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		if s.Keeps(late, dir, domain.Environment{}, domain.Denied{Path: dir + "/a"}) == nil {
			t.Error("the folder was looked through although there is no time for it")
		}
	})
	dir := folder(t)
	many := filepath.Join(dir, "many")
	must(t, os.Mkdir(many, 0o755))
	for i := range maxDeniedFiles {
		must(t, os.WriteFile(filepath.Join(many, fmt.Sprint(i)), nil, 0o600))
	}
	if err := open(byNamespaces).Keeps(t.Context(), dir, domain.Environment{}, domain.Denied{Path: many}); !errors.Is(err, errManyFiles) {
		t.Errorf("a folder with too many files: %v", err)
	}
	for _, m := range []method{byPIDNamespace, bySubreaper, ""} {
		for _, path := range []string{"/", "/nowhere", "/srv/x"} {
			if err := open(m).Keeps(t.Context(), "/srv", domain.Environment{}, domain.Denied{Path: path}); !errors.Is(err, errNotIsolated) {
				t.Errorf("%s by %q: %v", path, m, err)
			}
		}
	}
}

// TestAGuardThatIsMissing: between the look at the workspace and the mounts another command may exchange folders. Then nothing runs.
func TestAGuardThatIsMissing(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		for _, as := range []guardKind{readOnly, hidden} {
			dir := secretive(t)
			p, err := s.plan(domain.Command{Argv: []string{"touch", "begun"}, Dir: dir})
			must(t, err)
			p.Guards = append(p.Guards, guard{"sl", as}) // as if it had been a folder a moment ago
			_, err = p.run(t.Context(), ample, io.Discard)
			if _, begun := os.Stat(dir + "/begun"); domain.CodeOf(err) != domain.CodeNotStarted || begun == nil {
				t.Errorf("%s: %v, begun: %v", as, err, begun)
			}
		}
	})
}

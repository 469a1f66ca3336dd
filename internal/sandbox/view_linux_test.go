package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"signoff/internal/domain"
)

// inView runs a line in an environment.
func inView(t *testing.T, s *Sandbox, dir string, e domain.Environment, line string) string {
	t.Helper()
	output, _ := run(t, s, domain.Command{Argv: []string{"sh", "-c", line}, Dir: dir, Environment: e})
	return output
}

var machineView = domain.Environment{Name: "machine", View: domain.ViewMachine}

func TestTheMachineIsReadOnly(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		output := inView(t, s, dir, machineView, `ls -d /etc /opt /srv /var/log /usr 2>&1; head -c 4 /etc/passwd; echo
			for d in /etc /opt /srv /var/log /usr; do (: > $d/PLANTED) 2>/dev/null && echo ESCAPED $d; done
			ls /home /root /mnt /boot /var/lib 2>/dev/null; ls /run; echo done > file && cat file`)
		if want := "/etc\n/opt\n/srv\n/usr\n/var/log\nroot\ndone\n"; output != want {
			t.Errorf("the command says:\n%s", output)
		}
	})
}

// A server that runs as root runs commands as somebody else, who can write the workspace although it belongs to root. Outside, what the command makes
// belongs to the workspace's owner.
func TestCommandsOfRootRunAsAnother(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests do not run as root")
	}
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "old"), []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		output := inView(t, s, dir, machineView, `id -un; id -G; cat old; echo new > new; echo more >> old; ls -ld . new | cut -d' ' -f3; mkdir sub && mv new sub && echo moved
			echo out > /dev/stdout; grep -E '^(Cap|NoNewPrivs)' /proc/self/status | grep -vE '0000000000000000|CapBnd|NoNewPrivs:.1'; cat /proc/1/environ 2>&1 | head -c 20 | tr -d '\0'; kill -0 1 2>/dev/null && echo ESCAPED`)
		want := "nobody\n65534\nold\nnobody\nnobody\nmoved\nout\n"
		if !strings.HasPrefix(output, want) || strings.Contains(output, "ESCAPED") || strings.Contains(output, "Cap") {
			t.Errorf("the command says:\n%s", output)
		}
		info, err := os.Stat(filepath.Join(dir, "sub/new"))
		if err != nil {
			t.Fatal(err)
		}
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 {
			t.Errorf("the new file belongs to %d", uid)
		}
	})
}

func TestMountsAreShownAsTheySay(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir, app, logs := folder(t), folder(t), folder(t)
		for _, shown := range []string{app, logs} {
			if err := os.WriteFile(filepath.Join(shown, "file"), []byte("content\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		hidden := filepath.Join(app, "secret")
		if err := os.WriteFile(hidden, []byte("secret\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		e := domain.Environment{
			Name: "app", View: domain.ViewWorkspace, Hidden: []string{hidden},
			Mounts: []domain.Mount{{Path: app, Access: domain.AccessWrite}, {Path: logs, Access: domain.AccessRead}},
		}
		line := "cat " + app + "/file " + logs + "/file; echo more >> " + app + "/file && echo written; echo more 2>/dev/null >> " + logs + "/file || echo refused; cat " + hidden + "; ls /etc/hostname 2>/dev/null"
		output := inView(t, s, dir, e, line)
		want := "content\ncontent\nwritten\nrefused\n"
		output = strings.ReplaceAll(output, "cat: "+hidden+": Permission denied\n", "") // an empty device file is all that is there
		if output != want {
			t.Errorf("the command says:\n%s", output)
		}
		e.ReadOnly = true
		e.Mounts[0].Access = domain.AccessRead
		if output := inView(t, s, dir, e, "echo x 2>/dev/null > here || echo refused; echo x 2>/dev/null > "+app+"/there || echo refused"); output != "refused\nrefused\n" {
			t.Errorf("read-only, the command says:\n%s", output)
		}
	})
}

// A command that works in a mount writes there, and sees no more of it than one that works elsewhere.
func TestACommandWorksInAMount(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		app := folder(t)
		must(t, os.MkdirAll(filepath.Join(app, "sub"), 0o755))
		for _, name := range []string{"hidden", "sub/hidden"} {
			must(t, os.WriteFile(filepath.Join(app, name), []byte("secret\n"), 0o644))
		}
		must(t, os.WriteFile(filepath.Join(app, "outer"), []byte("outer\n"), 0o644))
		e := domain.Environment{
			Name: "app", View: domain.ViewWorkspace, Mounts: []domain.Mount{{Path: app, Access: domain.AccessWrite}},
			Hidden: []string{filepath.Join(app, "hidden"), filepath.Join(app, "sub/hidden")},
		}
		for dir, outer := range map[string]string{app: "outer", filepath.Join(app, "sub"): "../outer"} {
			must(t, s.Offers(e, dir))
			output := inView(t, s, dir, e, "pwd; cat "+outer+"; cat hidden "+app+"/hidden "+app+"/sub/hidden 2>/dev/null; echo made > made && cat made; mv "+app+"/sub "+app+"/moved 2>/dev/null || echo pinned")
			if want := dir + "\nouter\nmade\npinned\n"; output != want {
				t.Errorf("in %s, the command says:\n%s", dir, output)
			}
			if content, err := os.ReadFile(filepath.Join(dir, "made")); err != nil || string(content) != "made\n" {
				t.Errorf("%s: %q %v", dir, content, err)
			}
			narrowed := e
			narrowed.ReadOnly, narrowed.Mounts = true, []domain.Mount{{Path: app, Access: domain.AccessRead}}
			if output := inView(t, s, dir, narrowed, "cat "+outer+"; for f in made new "+app+"/new; do echo x 2>/dev/null > $f || echo refused; done"); output != "outer\nrefused\nrefused\nrefused\n" {
				t.Errorf("read-only in %s, the command says:\n%s", dir, output)
			}
		}
		e.Hidden = []string{filepath.Join(app, "sub")}
		for _, dir := range []string{filepath.Join(app, "sub"), "/etc"} {
			if err := s.Offers(e, dir); err == nil {
				t.Errorf("commands work in %s", dir)
			}
		}
	})
}

// A read-only mount does not stop connect: a command would reach the database beside us by its socket, and approve its own calls.
func TestNoLocalSocketsOutsideOfTheWorkspaceView(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		attacker(t, dir)
		if output := inView(t, s, dir, machineView, "./attack __attack localsockets"); output != "socket refused\nsocketpair made\n" {
			t.Errorf("the command says:\n%s", output)
		}
	})
}

func TestLentFilesAreRead(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		lent := filepath.Join(folder(t), "config")
		if err := os.WriteFile(lent, []byte("token: abc\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var masked []string
		s.config.Lend = func(path string, content []byte) error {
			masked = append(masked, path+": "+string(content))
			if string(content) == "too much" {
				return errors.New("it is too much")
			}
			return nil
		}
		e := domain.Environment{Name: "app", View: domain.ViewWorkspace, Files: map[string]string{"KUBECONFIG": lent, "OTHER": lent}}
		output := inView(t, s, dir, e, `echo $KUBECONFIG; cat $KUBECONFIG $OTHER; : 2>/dev/null >> $KUBECONFIG && echo ESCAPED; ls `+lent+` 2>/dev/null; env | grep abc`)
		if want := "/run/signoff/KUBECONFIG\ntoken: abc\ntoken: abc\n"; output != want {
			t.Errorf("the command says:\n%s", output)
		}
		if want := lent + ": token: abc\n"; !slices.Equal(masked, []string{want, want}) {
			t.Errorf("%q was handed out to be masked", masked)
		}
		must(t, os.WriteFile(lent, []byte("rotated"), 0o600))
		if output := inView(t, s, dir, e, "cat $OTHER"); output != "rotated" || masked[len(masked)-1] != lent+": rotated" {
			t.Errorf("after the rotation the command says %q, and %q was handed out", output, masked)
		}
		must(t, os.WriteFile(lent, []byte("too much"), 0o600)) // what cannot be masked is not lent
		for _, e := range []domain.Environment{e, {Name: "host", View: domain.ViewHost, AsServer: true, Files: e.Files}} {
			_, err := s.Run(t.Context(), domain.Command{Argv: []string{"true"}, Dir: dir, Environment: e}, io.Discard)
			if domain.CodeOf(err) != domain.CodeEnvironmentUnavailable || s.Offers(e, dir) == nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
	})
}

// Every entry of the table hides a file. The test runs in a mount namespace with files of all entries.
func TestSecretFilesAreHidden(t *testing.T) {
	if os.Getuid() != 0 || !privileged() {
		t.Skip("only root can mount files of all entries")
	}
	inner := exec.Command(os.Args[0], "-test.run=^TestSecretFilesInside$", "-test.v")
	inner.Env = append(os.Environ(), "SIGNOFF_TEST_SECRETS=1")
	inner.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	output, err := inner.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestSecretFilesInside") {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestSecretFilesInside(t *testing.T) {
	if os.Getenv("SIGNOFF_TEST_SECRETS") == "" {
		t.Skip("part of TestSecretFilesAreHidden")
	}
	for _, folder := range MachineFolders {
		overlay(t, folder)
	}
	plant := func(path, content string) {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o666))
	}
	for i, secret := range SecretFiles {
		path := strings.ReplaceAll(secret.Pattern, "*", "x")
		if strings.ContainsAny(path, "[?") || !slices.ContainsFunc(MachineFolders, func(folder string) bool { return within(folder, path) && folder != path }) {
			t.Fatalf("the pattern %s is not one of this test", secret.Pattern)
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() || holdsOthers(secret.Pattern) {
			path = filepath.Join(path, "inner")
		}
		plant(path, "canary "+strconv.Itoa(i)+" "+secret.Pattern+"\n")
	}
	for i, secret := range SecretNames {
		name := strings.ReplaceAll(secret.Pattern, "*", "x")
		plant("/srv/names/"+strconv.Itoa(i)+"/deep/"+name, "canary "+secret.Pattern+"\n-----BEGIN "+secret.Content+"-----\n")
		plant("/srv/folders/"+strconv.Itoa(i)+"/"+name+"/inner", "canary "+secret.Pattern+"\n") // seen, where only files have that name
		if secret.Content != "" {
			plant("/etc/harmless/"+name, "canary harmless\n")
		}
	}
	for i := range maxInFolder + 1 {
		plant(fmt.Sprintf("/opt/many/%d.ppk", i), "canary\n")
	}
	plant("/opt/many/neighbour", "canary of a folder with many keys\n")
	plant("/etc/harmless.conf", "canary harmless\n")
	must(t, os.Symlink("/etc/shadow", "/etc/harmless/link"))
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		output := inView(t, s, folder(t), machineView, "grep -rh canary /etc /opt /srv /var/log 2>/dev/null; cat /etc/harmless/link 2>/dev/null | grep canary")
		for line := range strings.Lines(output) {
			i := slices.IndexFunc(SecretNames, func(name SecretName) bool { return line == "canary "+name.Pattern+"\n" })
			if line != "canary harmless\n" && (i < 0 || SecretNames[i].Content == "") { // a folder is no certificate
				t.Errorf("the command reads: %s", line)
			}
		}
		if !strings.Contains(output, "canary harmless\n") {
			t.Errorf("the command sees nothing:\n%s", output)
		}
	})
}

// holdsOthers reports whether another entry of the table lies in this one, which is a folder then.
func holdsOthers(pattern string) bool {
	return slices.ContainsFunc(SecretFiles, func(other SecretFile) bool { return other.Pattern != pattern && within(pattern, other.Pattern) })
}

// overlay makes a folder writable for this mount namespace alone.
func overlay(t *testing.T, folder string) {
	t.Helper()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	upper := t.TempDir()
	if err := syscall.Mount("tmpfs", upper, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(upper, syscall.MNT_DETACH) })
	for _, name := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(upper, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	options := "lowerdir=" + folder + ",upperdir=" + upper + "/upper,workdir=" + upper + "/work"
	if err := syscall.Mount("overlay", folder, "overlay", 0, options); err != nil {
		t.Skip("no overlay file system here:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
}

// On the host a command is the operator's user, with the groups of that user, and sees the machine as it is. Nothing of it outlives its end.
func TestCommandsOnTheHost(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run commands as another")
	}
	t.Setenv("PASSED_ON", "yes")
	t.Setenv("KEPT_BACK", "no")
	s := open(byNamespaces)
	s.config.Lookup = os.LookupEnv
	dir := folder(t)
	must(t, os.Chmod(dir, 0o777))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	e := domain.Environment{Name: "host", View: domain.ViewHost, User: "nobody", Variables: []string{"PASSED_ON"}}
	m := mark()
	output := inView(t, s, dir, e, `id -un; id -Gn; pwd; echo $PASSED_ON $KEPT_BACK $USER; ls -d /proc/`+strconv.Itoa(os.Getpid())+` /home; grep Cap /proc/self/status | grep -v 0000000000000000 | grep -v CapBnd
		cat /proc/`+strconv.Itoa(os.Getpid())+`/environ 2>&1 >/dev/null | grep -c denied; setsid sleep `+m+` >/dev/null 2>&1 &`)
	want := "nobody\nnogroup\n" + dir + "\nyes nobody\n/home\n/proc/" + strconv.Itoa(os.Getpid()) + "\n1\n"
	if output != want {
		t.Errorf("the command says:\n%s", output)
	}
	wantDead(t, m)
	for _, none := range []domain.Environment{{Name: "host", View: domain.ViewHost, User: "nosuchuser"}, {Name: "host", View: domain.ViewHost, User: "root"}} {
		if err := s.Offers(none, dir); err == nil {
			t.Errorf("%s is offered", none.User)
		}
	}
}

// A server without isolation offers no environment that needs it: an environment is never weaker than it says.
func TestWithoutIsolationOnlyTheHost(t *testing.T) {
	s := open(byPIDNamespace)
	dir := folder(t)
	for _, e := range []domain.Environment{{Name: "workspace", View: domain.ViewWorkspace}, machineView} {
		if err := s.Offers(e, dir); err == nil || !strings.Contains(err.Error(), "SIGNOFF_SANDBOX=off") {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	_, err := s.Run(t.Context(), domain.Command{Argv: []string{"true"}, Dir: dir, Environment: machineView}, io.Discard)
	if domain.CodeOf(err) != domain.CodeEnvironmentUnavailable {
		t.Error(err)
	}
	if err := s.Offers(domain.Environment{Name: "host", View: domain.ViewHost, AsServer: true}, dir); err != nil {
		t.Error(err)
	}
}

// An agent in an environment is spoken to as any other, and sees and reaches no more than a command there.
func TestProcessesInAnEnvironment(t *testing.T) {
	_, port := site(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello\n") })
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		s.processes, s.config.Network = byPIDNamespace, networkTo(true)
		dir, lent, outside := folder(t), filepath.Join(folder(t), "key"), filepath.Join(folder(t), "file")
		attacker(t, dir)
		for _, path := range []string{lent, outside} {
			must(t, os.WriteFile(path, []byte("content\n"), 0o600))
		}
		c := start(t, s, Process{
			Argv: []string{"/bin/sh", "-c", `echo problem >&2; cat $KEY; echo $OWN; ls ` + outside + ` 2>/dev/null; echo made > made; ./attack __attack get http://localhost:` + port + `/
				./attack __attack get http://elsewhere.example/ | cut -c1-27; trap 'echo bye; exit 4' TERM; while read line; do echo "$line"; done; sleep 300 & wait`},
			Dir: dir, Env: []string{"OWN=yes"}, Hosts: []string{"localhost"},
			Environment: domain.Environment{Name: "machine", View: domain.ViewMachine, Files: map[string]string{"KEY": lent}},
		})
		for _, line := range []string{"content", "yes", "200 hello", "403 destinationBlocked: els"} {
			expect(t, c, line)
		}
		for _, line := range []string{"one", "two"} {
			_, err := io.WriteString(c.Stdin, line+"\n")
			must(t, err)
			expect(t, c, line)
		}
		if content(t, filepath.Join(dir, "made")) != "made\n" {
			t.Error("the workspace is not writable")
		}
		c.Stdin.Close()
		c.Kill()
		ends(t, c)
		if problem := rest(t, c.Stderr); problem != "problem\n" {
			t.Errorf("%q", problem)
		}
	})
}

// TestSettingsOfTheSystemCanBeRead by the ordinary user as whom commands of a server of root's run: without them, node and TLS do not work.
func TestSettingsOfTheSystemCanBeRead(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		e := domain.Environment{Name: "app", View: domain.ViewWorkspace, Mounts: []domain.Mount{{Path: folder(t), Access: domain.AccessRead}}}
		for _, file := range systemFiles {
			if exists(file) {
				if output := inView(t, s, folder(t), e, "test -r "+file+" && echo read"); output != "read\n" {
					t.Errorf("%s: %q", file, output)
				}
			}
		}
	})
}

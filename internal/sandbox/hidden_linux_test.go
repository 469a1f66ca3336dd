package sandbox

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

// What is hidden is hidden in every environment, and below the folders of the system.
func TestHiddenInTheWorkspaceView(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		e := domain.Environment{Name: "workspace", View: domain.ViewWorkspace, Hidden: []string{"/usr/share/common-licenses", "/usr/share/doc"}}
		if output := inView(t, s, folder(t), e, "ls -A /usr/share/common-licenses /usr/share/doc | grep -v : | grep .; ls -d /usr/share"); output != "/usr/share\n" {
			t.Errorf("the command says:\n%s", output)
		}
	})
}

// A folder that is hidden cannot have the workspace in it: all of it would be in sight.
func TestTheWorkspaceIsNotHidden(t *testing.T) {
	s, dir := open(byNamespaces), folder(t)
	e := domain.Environment{
		Name: "app", View: domain.ViewWorkspace, Mounts: []domain.Mount{{Path: filepath.Dir(dir), Access: domain.AccessRead}}, Hidden: []string{filepath.Dir(dir)},
	}
	_, err := s.Run(t.Context(), domain.Command{Argv: []string{"true"}, Dir: dir, Environment: e}, io.Discard)
	if domain.CodeOf(err) != domain.CodeEnvironmentUnavailable || !strings.Contains(err.Error(), "hides") || s.Offers(e, dir) == nil {
		t.Error(err)
	}
}

// A bind mount is a second name, and a container below a folder that is shown has the machine's /proc. The test runs in a mount namespace of its own.
func TestSecondNamesAreHidden(t *testing.T) {
	if os.Getuid() != 0 || !privileged() {
		t.Skip("only root can mount")
	}
	inner := exec.Command(os.Args[0], "-test.run=^TestSecondNamesInside$", "-test.v")
	inner.Env = append(os.Environ(), "SIGNOFF_TEST_SECRETS=1")
	inner.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	output, err := inner.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestSecondNamesInside") {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestSecondNamesInside(t *testing.T) {
	if os.Getenv("SIGNOFF_TEST_SECRETS") == "" {
		t.Skip("part of TestSecondNamesAreHidden")
	}
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	server, shown := folder(t), folder(t)
	write(t, filepath.Join(server, "data/deep/token"), "canary")
	for _, name := range []string{"data", "all", "deep", "proc"} {
		must(t, os.Mkdir(filepath.Join(shown, name), 0o755))
	}
	t.Cleanup(func() {
		for _, name := range []string{"data", "all", "deep", "proc"} {
			must(t, unix.Unmount(filepath.Join(shown, name), unix.MNT_DETACH))
		}
	})
	for name, source := range map[string]string{"data": "data", "all": "", "deep": "data/deep"} {
		must(t, unix.Mount(filepath.Join(server, source), filepath.Join(shown, name), "", unix.MS_BIND, ""))
	}
	must(t, unix.Mount("proc", filepath.Join(shown, "proc"), "proc", 0, ""))
	write(t, filepath.Join(server, "harmless"), "harmless\n")
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		s.config.Hidden = []string{filepath.Join(server, "data")}
		e := domain.Environment{Name: "app", View: domain.ViewWorkspace, Mounts: []domain.Mount{{Path: shown, Access: domain.AccessRead}}}
		line := "cd " + shown + "; grep -rsh canary data all deep; ls proc; cat all/harmless"
		if output := inView(t, s, folder(t), e, line); output != "harmless\n" {
			t.Errorf("the command says:\n%s", output)
		}
	})
}

// A rule that denies a path of a mount holds for commands, too, and one that denies a folder above.
func TestDeniedPathsOfMounts(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir, app, logs := folder(t), folder(t), folder(t)
		for _, path := range []string{app + "/sub/file", app + "/other", logs + "/file"} {
			write(t, path, "content\n")
		}
		e := domain.Environment{
			Name: "app", View: domain.ViewWorkspace, Mounts: []domain.Mount{{Path: app, Access: domain.AccessWrite}, {Path: logs, Access: domain.AccessRead}},
		}
		for _, test := range []struct {
			denied domain.Denied
			line   string
			want   string
		}{
			{domain.Denied{Path: app + "/sub"}, "echo bad > " + app + "/sub/file; mv " + app + "/sub " + app + "/x; echo > " + app + "/other", "read-only"},
			{domain.Denied{Path: app}, "echo bad > " + app + "/sub/file; echo bad > " + app + "/new", "read-only"},
			{domain.Denied{Path: filepath.Dir(app)}, "echo bad > " + app + "/sub/file", "read-only"},
			{domain.Denied{Path: app + "/sub/file", Hidden: true}, "mv " + app + "/sub " + app + "/y; cat " + app + "/sub/file " + app + "/y/file", "hidden"},
			{domain.Denied{Path: logs, Hidden: true}, "cat " + logs + "/file", "hidden"},
		} {
			if err := s.Keeps(t.Context(), dir, e, test.denied); err != nil {
				t.Errorf("%+v: %v", test.denied, err)
			}
			output, _ := run(t, s, domain.Command{Argv: []string{"sh", "-c", test.line}, Dir: dir, Environment: e, Denied: []domain.Denied{test.denied}})
			if strings.Contains(output, "content\n") || content(t, app+"/sub/file") != "content\n" {
				t.Errorf("%+v: the command says %s", test.denied, output)
			}
		}
		if err := s.Keeps(t.Context(), dir, e, domain.Denied{Path: app + "/missing"}); err == nil {
			t.Error("a path that can be made is kept")
		}
		if err := s.Keeps(t.Context(), dir, domain.Environment{Name: "host", View: domain.ViewHost}, domain.Denied{Path: app}); err == nil {
			t.Error("a command on the host is kept from something")
		}
	})
}

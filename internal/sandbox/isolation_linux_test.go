package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"signoff/internal/domain"
)

func TestWorkspaceIsWritable(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		output, result := shell(t, s, dir, "mkdir a b && echo hello > a/file && mv a/file b/file && cat b/file && pwd")
		if want := "hello\n" + dir + "\n"; output != want || result.ExitCode != 0 {
			t.Fatalf("exit code %d, output %q", result.ExitCode, output)
		}
		if got := content(t, filepath.Join(dir, "b/file")); got != "hello\n" {
			t.Fatalf("outside, the file holds %q", got)
		}
	})
}

func TestToolsWork(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		output, result := shell(t, s, folder(t), `set -e
			echo x > /tmp/x; cat /tmp/x; echo y > /dev/shm/y; echo z > /var/tmp/z; cat /tmp/z
			echo out > /dev/stdout; echo err > /dev/stderr; head -c 4 /dev/urandom > r; echo gone > /dev/null
			awk 'BEGIN { print 6*7 }' | sort; grep -c processor /proc/cpuinfo > /dev/null; umask; ls / > /dev/null`)
		if want := "x\nz\nout\nerr\n42\n0022\n"; output != want || result.ExitCode != 0 {
			t.Fatalf("exit code %d, output %q", result.ExitCode, output)
		}
	})
}

func TestLoopbackInside(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		attacker(t, dir)
		if output, result := shell(t, s, dir, "./attack __attack loopback"); result.ExitCode != 0 {
			t.Errorf("the loopback inside does not work: %s", output)
		}
		if output, _ := shell(t, s, dir, "cat /proc/net/dev | grep -vE 'Inter|face| lo:'"); output != "" {
			t.Errorf("there are interfaces: %s", output)
		}
	})
}

func accept(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		connection.Close()
	}
}

func TestNoPrivileges(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		output, _ := shell(t, s, folder(t), "grep -E '^(CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status")
		zero := "0000000000000000"
		want := fmt.Sprintf("CapInh:\t%s\nCapPrm:\t%s\nCapEff:\t%s\nCapAmb:\t%s\nNoNewPrivs:\t1\nSeccomp:\t2\n", zero, zero, zero, zero)
		if output != want {
			t.Errorf("the command has:\n%s", output)
		}
		output, _ = shell(t, s, folder(t), "ulimit -c; ulimit -n")
		if want := fmt.Sprintf("0\n%d\n", maxOpenFiles); output != want {
			t.Errorf("limits: %q", output)
		}
	})
}

// attackRole runs isolated.
func attackRole(args []string) int {
	switch args[0] {
	case "dial":
		connection, err := net.DialTimeout(args[1], args[2], 2*time.Second)
		if err != nil {
			fmt.Println("refused:", err)
			return 1
		}
		_ = connection.SetDeadline(time.Now().Add(time.Second))
		_, _ = connection.Write([]byte("x"))
		if args[1] != "udp" {
			_, _ = io.Copy(os.Stdout, connection)
		}
		return 0
	case "loopback":
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Println(err)
			return 1
		}
		go accept(listener)
		if _, err := net.Dial("tcp", listener.Addr().String()); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	case "localsockets":
		if _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
			fmt.Println("socket refused")
		}
		if _, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
			fmt.Println("socketpair made")
		}
		return 0
	case "write":
		if err := os.WriteFile(args[1], []byte("evil"), 0o600); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	case "get":
		return attackGet(os.Getenv("HTTP_PROXY"), args[1])
	case "tunnel":
		return attackTunnel(os.Getenv("HTTPS_PROXY"), args[1])
	case "threads":
		count, _ := strconv.Atoi(args[1])
		return attackThreads(count)
	case "memory":
		return attackMemory()
	}
	escapeRole(args)
	return 0
}

func TestEnvironmentIsClean(t *testing.T) {
	t.Setenv("SIGNOFF_CANARY", "canary-of-the-environment")
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		output, _ := shell(t, s, dir, "env | sort; cat /proc/self/environ /proc/$PPID/environ /proc/1/environ")
		if strings.Contains(output, "canary") || strings.Contains(output, "SIGNOFF") {
			t.Errorf("the environment of the server is visible: %s", output)
		}
		output, _ = shell(t, s, dir, "env | sort | cut -d= -f1 | tr '\\n' ' '")
		if want := "HOME LANG PATH PWD TERM TMPDIR "; output != want {
			t.Errorf("environment: %s", output)
		}
	})
}

// TestFurtherEnvironment gives a command what it may have besides, some of it in the place of the sandbox's own.
func TestFurtherEnvironment(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		tool := write(t, filepath.Join(dir, "bin/tool"), "#!/bin/sh\n/usr/bin/env | /usr/bin/sort\n")
		must(t, os.Chmod(tool, 0o755))
		further := []string{"TWICE=first", "PATH=" + dir + "/bin", "HOME=/elsewhere/x", "EMPTY=", "TWICE=second=2", "UMLAUT=ü"}
		output, _ := run(t, s, domain.Command{Argv: []string{"tool"}, Dir: dir, Env: further})
		want := "EMPTY=\nHOME=/elsewhere/x\nLANG=C.UTF-8\nPATH=" + dir + "/bin\nPWD=" + dir + "\nTERM=dumb\nTMPDIR=/tmp\nTWICE=second=2\nUMLAUT=ü\n"
		if output != want {
			t.Errorf("%s", output)
		}
		_, err := s.Run(t.Context(), domain.Command{Argv: []string{"true"}, Dir: dir, Env: []string{"no pair"}}, io.Discard)
		if domain.CodeOf(err) != domain.CodeInvalidArguments {
			t.Errorf("error %v", err)
		}
	})
}

// TestFurtherEnvironmentIsTheCommandsAlone is about an LD_PRELOAD, which would act in a stage before the isolation is
// complete, and about secrets.
func TestFurtherEnvironmentIsTheCommandsAlone(t *testing.T) {
	each(t, allMethods, func(t *testing.T, s *Sandbox) {
		m, secret := mark(), "secret-"+mark()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		command := domain.Command{Argv: []string{"sh", "-c", "exec sleep " + m}, Dir: folder(t), Env: []string{"KEY=" + secret}}
		go func() {
			_, err := s.Run(ctx, command, io.Discard)
			ended <- err
		}()
		wantUnseen(t, secret, m)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestNoDescriptorIsInherited(t *testing.T) {
	leak(t, write(t, filepath.Join(folder(t), "file"), ""))
	want := func(t *testing.T, descriptors string) {
		if descriptors != "0 1 2 3\n" && descriptors != "0 1 2\n" { // 3 is the shell that reads the folder
			t.Errorf("descriptors: %s", descriptors)
		}
	}
	const script = "cd /proc/self/fd && echo *"
	t.Run("command", func(t *testing.T) {
		each(t, allMethods, func(t *testing.T, s *Sandbox) {
			output, _ := shell(t, s, folder(t), script+" && readlink 0")
			descriptors, isNull := strings.CutSuffix(output, "/dev/null\n")
			if want(t, descriptors); !isNull {
				t.Errorf("its input is not /dev/null: %s", output)
			}
		})
	})
	t.Run("process", func(t *testing.T) {
		each(t, processMethods, func(t *testing.T, s *Sandbox) { want(t, rest(t, begin(t, s, script).Stdout)) })
	})
}

func TestGitIsGuarded(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		config := write(t, filepath.Join(dir, ".git/config"), "good")
		write(t, filepath.Join(dir, ".git/hooks/pre-commit.sample"), "good")
		shell(t, s, dir, `echo bad > .git/config; echo bad > .git/hooks/pre-commit; rm -rf .git/hooks .git/config
			mv .git x; mv .git/hooks .git/y; mkdir -p .git/hooks; echo bad > .git/hooks/pre-commit; echo bad > .git/config`)
		if got := content(t, config); got != "good" {
			t.Errorf("the config is %q", got)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git/hooks/pre-commit")); err == nil {
			t.Error("a hook was left")
		}
		if _, result := shell(t, s, dir, "echo ok > .git/index"); result.ExitCode != 0 {
			t.Error("the rest of .git cannot be written")
		}
	})
}

func TestHiddenAndReadOnly(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		database := write(t, filepath.Join(dir, "var/data/signoff.db"), "canary")
		token := write(t, filepath.Join(dir, "token"), "canary")
		config := write(t, filepath.Join(dir, "signoff.yaml"), "good")
		s.config = Config{Hidden: []string{filepath.Dir(database), token, "/nowhere"}, ReadOnly: []string{config}}
		output, _ := shell(t, s, dir, `cat var/data/* token; ls -A var/data; mv var other; rm -rf var/data
			echo bad > signoff.yaml; mv signoff.yaml y; echo bad > token; echo bad > var/data/new; cat signoff.yaml; echo > var/ok`)
		if strings.Contains(output, "canary") || strings.Contains(output, "signoff.db") {
			t.Errorf("the data is in sight: %s", output)
		}
		if got := content(t, database) + content(t, token) + content(t, config); got != "canarycanarygood" {
			t.Errorf("outside, the files hold %q", got)
		}
		if _, err := os.Stat(filepath.Join(dir, "var/ok")); err != nil {
			t.Error("the folder beside the data cannot be written")
		}
	})
}

func TestPlantedLinkIsRefused(t *testing.T) {
	dir := folder(t)
	must(t, os.Symlink("/etc", filepath.Join(dir, "data")))
	s := open(byNamespaces)
	s.config.Hidden = []string{filepath.Join(dir, "data")}
	_, err := s.Run(t.Context(), domain.Command{Argv: []string{"true"}, Dir: dir}, nil)
	if domain.CodeOf(err) != domain.CodeSandboxUnavailable {
		t.Errorf("a link in place of a hidden folder: %v", err)
	}
}

func TestWorkspaceInOddPlaces(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		parents := []string{"/var/tmp"}
		if os.Getuid() == 0 {
			parents = append(parents, "/usr/local/src", "/run", "/opt", "/root")
		}
		for _, parent := range parents {
			dir, err := os.MkdirTemp(parent, "signoff odd' ")
			must(t, err)
			t.Cleanup(func() { os.RemoveAll(dir) })
			if output, result := shell(t, s, dir, "echo fine > file && cat file"); result.ExitCode != 0 {
				t.Errorf("%s: %s", dir, output)
			}
		}
	})
}

func TestSystemCannotBeTheWorkspace(t *testing.T) {
	s := open(byNamespaces)
	for _, dir := range []string{"/", "/usr", "/etc", "/etc/ssl", "/proc/self", "/dev/shm", "/tmp", "relative", "", "/nowhere", "/etc/passwd"} {
		if _, err := s.Run(t.Context(), domain.Command{Argv: []string{"true"}, Dir: dir}, nil); err == nil {
			t.Errorf("%q was taken", dir)
		}
	}
}

package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// A process keeps its home between two starts, and finds nothing else of the machine through it, nor the folder that it lies in.
func TestTheHomeOfAProcess(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		s.processes = byPIDNamespace
		dir, data := folder(t), folder(t)
		home := filepath.Join(data, "home")
		must(t, os.Mkdir(home, 0o700))
		must(t, os.WriteFile(filepath.Join(data, "token"), []byte("secret"), 0o600))
		must(t, os.Symlink(filepath.Join(data, "token"), filepath.Join(home, "link")))
		s.config.Hidden = []string{data}
		for _, e := range []domain.Environment{machineView, {Name: "workspace", View: domain.ViewWorkspace}} {
			for _, want := range []string{"new\nrefused\nrefused\n", "kept\nrefused\nrefused\n"} {
				c := start(t, s, Process{
					Argv: []string{"/bin/sh", "-c", `if [ -e "$HOME/file" ]; then echo kept; else echo new; echo new > "$HOME/file"; fi
						cat "$HOME/link" 2>/dev/null || echo refused; cat ` + data + `/token 2>/dev/null || echo refused`},
					Dir: dir, Home: home, Env: []string{"HOME=" + ProcessHome}, Environment: e,
				})
				go func() { _, _ = io.Copy(io.Discard, c.Stderr) }()
				if got := rest(t, c.Stdout); got != want {
					t.Errorf("in %s the process says %q, not %q", e.Name, got, want)
				}
				ends(t, c)
			}
			must(t, os.Remove(filepath.Join(home, "file")))
		}
	})
}

// What a place serves is all that is behind it; ps is served beside it, and by its own place, whatever else has one.
func TestPlacesOfAProcessAreServed(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		s.processes, s.config.Network = byPIDNamespace, networkTo(true)
		e := domain.Environment{
			Name: "machine", View: domain.ViewMachine, Processes: domain.ProcessesHost,
			Networks: []domain.Network{{Name: "corp", Hosts: []string{"a.example", "b.example"}, Ports: []uint16{443}}},
		}
		c := start(t, s, Process{
			Argv: []string{"/bin/bash", "-c", `pwd; exec 3<>/dev/tcp/echo.signoff/1; echo hello >&3; head -1 <&3; ps -e -o pid,comm | head -2 | tail -1; ls ` + OwnProgram + `
				grep -o 'named.example$' /etc/hosts`},
			Dir: folder(t), Start: ProgramFolder, Environment: e, Hosts: []string{"named.example", "*.wild.example"},
			Serve: map[string]func(io.ReadWriteCloser){"echo.signoff:1": func(client io.ReadWriteCloser) {
				defer client.Close()
				line, _ := bufio.NewReader(client).ReadString('\n')
				fmt.Fprint(client, strings.ToUpper(line))
			}},
		})
		go func() { _, _ = io.Copy(io.Discard, c.Stderr) }()
		got := strings.Join(strings.Fields(rest(t, c.Stdout)), " ")
		want := fmt.Sprintf("%s HELLO %d %s %s named.example", ProgramFolder, someProcesses[0].PID, someProcesses[0].Name, OwnProgram)
		if got != want {
			t.Errorf("the process says %q, not %q", got, want)
		}
		ends(t, c)
	})
}

func TestProgramsThatAnEnvironmentShows(t *testing.T) {
	s := open(byNamespaces)
	tools, hidden := folder(t), folder(t)
	for _, folder := range []string{tools, hidden} {
		must(t, os.WriteFile(filepath.Join(folder, "agent"), []byte("#!/bin/sh\n"), 0o700))
	}
	must(t, os.Symlink(filepath.Join(hidden, "agent"), filepath.Join(tools, "link")))
	must(t, os.Symlink("agent", filepath.Join(tools, "alias")))
	mounted := domain.Environment{View: domain.ViewWorkspace, Mounts: []domain.Mount{{Path: tools, Access: domain.AccessRead}}}
	covered := mounted
	covered.Hidden = []string{filepath.Join(tools, "agent")}
	for _, test := range []struct {
		in      domain.Environment
		program string
		want    bool
	}{
		{domain.Environment{View: domain.ViewWorkspace}, "/usr/bin/env", true},
		{domain.Environment{View: domain.ViewWorkspace}, filepath.Join(tools, "agent"), false},
		{mounted, filepath.Join(tools, "agent"), true},
		{mounted, filepath.Join(tools, "alias"), true},
		{mounted, filepath.Join(tools, "link"), false},
		{mounted, filepath.Join(tools, "none"), false},
		{covered, filepath.Join(tools, "alias"), false},
	} {
		if got := s.Shows(test.in, test.program); got != test.want {
			t.Errorf("%s in %v: %v", test.program, test.in.Mounts, got)
		}
	}
}

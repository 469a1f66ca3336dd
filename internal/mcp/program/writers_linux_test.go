package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
	"signoff/internal/mcp"
)

// TestAProgramThatAgentsCanWriteIsRefused, by whatever way they can. Each way is told from a program beside it that is started: the refusal is about
// the place.
func TestAProgramThatAgentsCanWriteIsRefused(t *testing.T) {
	r := newRig(t)
	ws, mount, foreign, other, safe := r.use.Directory, folder(t), folder(t), folder(t), folder(t)
	r.catalog.mounts["own"] = []domain.Mount{{Path: mount, Access: domain.AccessWrite}}
	r.catalog.mounts["bare"] = []domain.Mount{{Path: foreign, Access: domain.AccessWrite}}
	r.spaces = []string{ws, other}
	r.use.Environment = r.chosen("own")
	shell := "#!/bin/sh\n" + shellText
	in := func(folder, name string) string { return write(t, filepath.Join(folder, name), shell) }
	link := func(to, at string) string { must(t, os.Symlink(to, at)); return at }
	good := in(safe, "good")
	must(t, os.Link(good, filepath.Join(safe, "second")))
	must(t, os.Link(in(safe, "linked"), filepath.Join(ws, "deep-linked")))
	folderLink := link(ws, filepath.Join(safe, "folder"))
	tests := map[string]struct {
		server mcp.Server
		about  string // in the message
	}{
		"in the workspace":                {mcp.Server{Command: in(ws, "server")}, "working directory " + ws},
		"deep in the workspace":           {mcp.Server{Command: in(ws, "a/b/server")}, ws},
		"in a mount of its environment":   {mcp.Server{Command: in(mount, "server")}, "environment own mounts " + mount},
		"in a mount of another one":       {mcp.Server{Command: in(foreign, "server")}, "environment bare mounts " + foreign},
		"in another workspace":            {mcp.Server{Command: in(other, "server")}, "the workspace " + other},
		"a link into the workspace":       {mcp.Server{Command: link(filepath.Join(ws, "server"), filepath.Join(safe, "link"))}, ws},
		"a link in the workspace":         {mcp.Server{Command: link(good, filepath.Join(ws, "link"))}, ws},
		"through a linked folder":         {mcp.Server{Command: filepath.Join(folderLink, "server")}, ws},
		"by a second name":                {mcp.Server{Command: filepath.Join(safe, "linked")}, "deep-linked"},
		"with an interpreter there":       {mcp.Server{Command: write(t, filepath.Join(safe, "script"), "#!"+in(ws, "sh")+"\n")}, filepath.Join(ws, "sh")},
		"a script":                        {mcp.Server{Command: "sh", Args: []string{in(ws, "script.sh")}}, "argument"},
		"a script behind a flag":          {mcp.Server{Command: "sh", Args: []string{"--init=" + in(ws, "init.sh"), good}}, "init.sh"},
		"a module by its address":         {mcp.Server{Command: "sh", Args: []string{"--import", "file://" + in(mount, "x.mjs")}}, "x.mjs"},
		"a line for a shell":              {mcp.Server{Command: "sh", Args: []string{"-c", "exec '" + in(ws, "run") + "' --now"}}, filepath.Join(ws, "run")},
		"a folder with code":              {mcp.Server{Command: "sh", Args: []string{mount}}, mount},
		"a script that is not there yet":  {mcp.Server{Command: "sh", Args: []string{filepath.Join(ws, "later.sh")}}, "later.sh"},
		"a script in a folder of its own": {mcp.Server{Command: "sh", Args: []string{in(mount, "own.sh")}, Mounts: map[string]string{mount: "write"}}, "own.sh"},
		"a path from where it starts":     {mcp.Server{Command: "sh", Args: []string{".." + in(ws, "up.sh")}}, "up.sh"},
		"a path from the root":            {mcp.Server{Command: "sh", Args: []string{strings.TrimPrefix(in(ws, "root.sh"), "/tmp/")}}, "root.sh"},
		"behind the letter of an option":  {mcp.Server{Command: "sh", Args: []string{"-I" + in(ws, "lib")}}, "lib"},
		"in an address with a host":       {mcp.Server{Command: "sh", Args: []string{"--import=file://localhost" + in(ws, "y.mjs")}}, "y.mjs"},
		"in an address with escapes":      {mcp.Server{Command: "sh", Args: []string{"file://" + strings.ReplaceAll(in(ws, "z.mjs"), ws, ws[:len(ws)-1]+"%31")}}, "z.mjs"},
		"with a blank in its name":        {mcp.Server{Command: "sh", Args: []string{in(ws, "a b.sh")}}, "a b.sh"},
		"in a variable of any name":       {mcp.Server{Command: good, SetEnv: map[string]string{"PYTHONUSERBASE": filepath.Join(ws, "ub")}}, "PYTHONUSERBASE"},
		"in a variable, from its start":   {mcp.Server{Command: good, SetEnv: map[string]string{"PYTHONPATH": ".." + filepath.Join(ws, "lib")}}, "PYTHONPATH"},
		"a library in a mount of its own": {mcp.Server{Command: good, SetEnv: map[string]string{"PYTHONPATH": mount}, Mounts: map[string]string{mount: "write"}}, "PYTHONPATH"},
		"a path for programs":             {mcp.Server{Command: good, SetEnv: map[string]string{"PATH": "/usr/bin:" + ws}}, "PATH"},
		"a library":                       {mcp.Server{Command: good, SetEnv: map[string]string{"LD_PRELOAD": filepath.Join(mount, "x.so")}}, "LD_PRELOAD"},
		"an option of node":               {mcp.Server{Command: good, SetEnv: map[string]string{"NODE_OPTIONS": "--require " + filepath.Join(ws, "x.js")}}, "NODE_OPTIONS"},
		"in an environment of its own":    {mcp.Server{Command: in(ws, "server"), Environment: "workspace"}, ws},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			message := r.refusal(test.server, domain.CodeAgentUnavailable)
			if !strings.Contains(message, test.about) || !strings.Contains(message, "An agent could") {
				t.Error(message)
			}
		})
	}
	for name, server := range map[string]mcp.Server{
		"a program elsewhere":    {Command: good},
		"a script elsewhere":     {Command: "sh", Args: []string{good}},
		"a variable for data":    {Command: good, SetEnv: map[string]string{"DATA": mount, "FILE": in(mount, "memory.json")}, Mounts: map[string]string{mount: "write"}},
		"words and an address":   {Command: good, Args: []string{"stdio", "-y", "@scope/server-x@1.2", "https://example.com/a/b", "--depth=3"}, SetEnv: map[string]string{"MODE": "fast"}},
		"data that it may write": {Command: good, Args: []string{mount, filepath.Join(mount, "new.db")}, Mounts: map[string]string{mount: "write"}},
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			want(t, "it", r.starts(server).run("echo runs"), "runs")
		})
	}
}

// TestProgramsAreLookedForWhereNoAgentWrites: the server's PATH may lead into a workspace, as that of npm does.
func TestProgramsAreLookedForWhereNoAgentWrites(t *testing.T) {
	r := newRig(t)
	bin := filepath.Join(r.use.Directory, "node_modules/.bin")
	write(t, filepath.Join(bin, "helper"), "#!/bin/sh\necho the workspace\n")
	r.variables["PATH"] = bin + ":.:/usr/bin:/bin"
	s := r.starts(mcp.Server{Command: script(t)})
	want(t, "PATH", s.run("echo $PATH; helper 2>/dev/null"), "/usr/bin:/bin")
	write(t, filepath.Join(bin, "tool-server"), "#!/bin/sh\n")
	if message := r.refusal(mcp.Server{Command: "tool-server"}, domain.CodeAgentUnavailable); !strings.Contains(message, bin) {
		t.Error(message)
	}
}

// TestNamesOnTheWay: each link to a program is a place where an agent could put another one.
func TestNamesOnTheWay(t *testing.T) {
	top := folder(t)
	must(t, os.MkdirAll(filepath.Join(top, "a/b"), 0o700))
	must(t, os.Symlink("../a/b", filepath.Join(top, "a/up")))
	must(t, os.Symlink(filepath.Join(top, "a/up"), filepath.Join(top, "all")))
	must(t, os.Symlink("loop", filepath.Join(top, "loop")))
	got := strings.Join(namesOf(filepath.Join(top, "all/x")), " ")
	want(t, "names", strings.ReplaceAll(got, top, ""), "/all /a/up /a/b/x")
	if names := namesOf(filepath.Join(top, "loop/x")); len(names) != maxLinks+1 {
		t.Errorf("a loop has %d names", len(names))
	}
}

// TestWhatAHostEnvironmentWrites: there, the mode of each folder on the way decides.
func TestWhatAHostEnvironmentWrites(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has host environments of other users")
	}
	r := newRig(t)
	closed := folder(t)
	program := write(t, filepath.Join(closed, "server"), "#!/bin/sh\n"+shellText)
	must(t, os.Chmod(program, 0o755))
	for at := filepath.Dir(program); at != os.TempDir(); at = filepath.Dir(at) {
		must(t, os.Chmod(at, 0o755))
	}
	host := domain.Environment{Name: "host", View: domain.ViewHost, User: "nobody", Processes: domain.ProcessesHost}
	r.use.Environment = host
	if message := r.refusal(mcp.Server{Command: program}, domain.CodeAgentUnavailable); !strings.Contains(message, "may write "+os.TempDir()) {
		t.Error("a program below a folder that everybody writes: " + message)
	}
	s := r.starts(mcp.Server{Command: "sh", Args: []string{"-c", shellText}})
	want(t, "who it is, and where", s.run("id -un; pwd"), "nobody\n/")
	r.variables["TOKEN"] = "t0ken-of-the-server"
	if message := r.refusal(mcp.Server{Command: "sh", Env: []string{"TOKEN"}}, domain.CodeEnvironmentUnavailable); !strings.Contains(message, "nobody") {
		t.Error(message)
	}
	s = r.starts(mcp.Server{Command: "sh", Args: []string{"-c", shellText}, Env: []string{"TOKEN"}, Environment: "own"})
	said := s.run("echo $TOKEN") + r.command("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep TOKEN || echo none")
	want(t, "the token, and what a command finds", said, "t0ken-of-the-servernone")
	r.use.Environment.AsServer, r.use.Environment.User = true, ""
	if message := r.refusal(mcp.Server{Command: "sh", Env: []string{"TOKEN"}, Environment: "own"}, domain.CodeEnvironmentUnavailable); !strings.Contains(message, "the server's own user") {
		t.Error(message)
	}
}

// TestAFolderInTwoPlacesIsOne: a bind mount shows the same folder, by its device and number, at another path.
func TestAFolderInTwoPlacesIsOne(t *testing.T) {
	mounted := folder(t)
	info, err := os.Stat(mounted)
	must(t, err)
	w := &writers{roots: []root{{"/srv/elsewhere", info, "an execution can write it"}}}
	want(t, "a file in it", w.why(filepath.Join(mounted, "a/b")), "an execution can write it")
	want(t, "a file beside it", w.why(filepath.Join(filepath.Dir(mounted), "b")), "")
}

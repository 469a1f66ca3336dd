package program

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"signoff/internal/domain"
	"signoff/internal/mcp"
	"signoff/internal/sandbox"
)

const patience = 2 * time.Minute

// TestWhatAProgramSees: the workspace as the execution sees it, its own program and arguments for reading, what its entry mounts, and no more.
func TestWhatAProgramSees(t *testing.T) {
	r := newRig(t)
	program, data, other := script(t), folder(t), folder(t)
	config := write(t, filepath.Join(folder(t), "config.json"), "{}")
	write(t, filepath.Join(data, "row"), "row")
	write(t, filepath.Join(other, "key"), "key")
	write(t, filepath.Join(r.use.Directory, "file"), "text")
	s := r.starts(mcp.Server{Command: program, Args: []string{"--config=" + config, data}})
	want(t, "the workspace", s.run("cat "+r.use.Directory+"/file; echo more >>"+r.use.Directory+"/file && echo written"), "textwritten")
	want(t, "its arguments", s.run("cat "+config+" "+data+"/row"), "{}row")
	want(t, "another folder", s.run("ls "+other+" 2>/dev/null || echo none"), "none")
	want(t, "writing", s.run("for f in "+program+" "+config+" "+data+"/row "+data+"/new; do (echo x >>$f) 2>/dev/null && echo wrote $f; done"), "")
	want(t, "its folder", s.run("pwd; ls -A | grep -v ^Test"), "/tmp")
	want(t, "its processes", s.run("ls -d /proc/[0-9]* | wc -l | grep -c '^[1-9]$'"), "1")
}

// TestWhatAnEntryGives: mounts and hosts of its own, beside those of the environment, and nothing of that reaches a command.
func TestWhatAnEntryGives(t *testing.T) {
	r := newRig(t)
	r.variables["API_KEY"], r.variables["STORED"] = "k3y-of-the-server", "s3cret-of-the-vault"
	cache, shown := folder(t), folder(t)
	write(t, filepath.Join(shown, "page"), "page")
	r.catalog.mounts["own"] = []domain.Mount{{Path: shown, Access: domain.AccessRead}}
	r.use.Environment = r.chosen("own")
	s := r.starts(mcp.Server{
		Command: script(t), Mounts: map[string]string{cache: "write"}, Hosts: []string{"api.example"},
		Env: []string{"API_KEY"}, SetEnv: map[string]string{"CACHE": cache}, SecretEnv: map[string]string{"GH_TOKEN": "STORED"},
	})
	want(t, "its variables", s.run("echo $API_KEY $GH_TOKEN $CACHE"), "k3y-of-the-server s3cret-of-the-vault "+cache)
	want(t, "the environment's mount", s.run("cat "+shown+"/page; (echo x >>"+shown+"/page) 2>/dev/null || echo refused"), "pagerefused")
	want(t, "its own mount", s.run("echo x >$CACHE/new && cat $CACHE/new"), "x")
	if s.run("echo $HTTPS_PROXY") == "" {
		t.Error("it has no way to its hosts")
	}
	want(t, "the hosts that were granted", strings.Join(r.accesses[0].Hosts, " "), "api.example")
	said := r.command("env; ls " + cache + " 2>/dev/null; cat " + shown + "/page; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")
	for _, none := range []string{"k3y", "s3cret", cache, "PROXY", "new"} {
		if strings.Contains(said, none) {
			t.Errorf("a command of the execution has %q: %s", none, said)
		}
	}
	if !strings.Contains(said, "page") || len(r.accesses) != 1 {
		t.Errorf("the command does not see what the environment shows, or got a network (%v): %s", r.accesses, said)
	}
}

// TestVariablesAreOnAList: nothing of Signoff's environment is passed on that is not named.
func TestVariablesAreOnAList(t *testing.T) {
	r := newRig(t)
	r.variables["SIGNOFF_TOKEN"], r.variables["OPENAI_API_KEY"], r.variables["TZ"], r.variables["HTTP_PROXY"] = "t", "k", "UTC", "http://p"
	var names []string
	for line := range strings.Lines(r.starts(mcp.Server{Command: script(t)}).run("env")) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "=")
		names = append(names, name)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains([]string{"OLDPWD", "PWD", "SHLVL", "_"}, name) }) // the shell's own
	want(t, "its variables", strings.Join(names, " "), "HOME LANG PATH TERM TMPDIR TZ")
}

// TestAnEnvironmentOfItsOwn takes the place of the execution's, but for the workspace.
func TestAnEnvironmentOfItsOwn(t *testing.T) {
	r := newRig(t)
	theirs, own := folder(t), folder(t)
	write(t, filepath.Join(theirs, "a"), "theirs")
	write(t, filepath.Join(own, "a"), "own")
	r.catalog.mounts["bare"] = []domain.Mount{{Path: theirs, Access: domain.AccessRead}}
	r.catalog.mounts["own"] = []domain.Mount{{Path: own, Access: domain.AccessRead}}
	r.use.Environment = r.chosen("bare")
	s := r.starts(mcp.Server{Command: script(t), Environment: "own"})
	want(t, "what it sees", s.run("cat "+own+"/a "+theirs+"/a 2>/dev/null; test -d "+r.use.Directory+" && echo .workspace"), "own.workspace")
}

// TestAReadOnlyExecution keeps its servers from writing the workspace, but not what the entry gives them.
func TestAReadOnlyExecution(t *testing.T) {
	r := newRig(t)
	cache := folder(t)
	for _, own := range []string{"", "own"} {
		r.use.Environment = r.chosen("workspace")
		r.use.Environment.ReadOnly = true
		s := r.starts(mcp.Server{Command: script(t), Environment: own, Mounts: map[string]string{cache: "write"}})
		want(t, "writing", s.run("(echo x >"+r.use.Directory+"/a) 2>/dev/null; (echo x >"+cache+"/a) 2>/dev/null; ls "+r.use.Directory+" "+cache), r.use.Directory+":\n\n"+cache+":\na")
	}
}

// TestLinksLeadToTheProgram: a program that is installed behind a link runs, and so does a script behind one.
func TestLinksLeadToTheProgram(t *testing.T) {
	r := newRig(t)
	bin := folder(t)
	program := script(t)
	must(t, os.Symlink(program, filepath.Join(bin, "tools")))
	r.variables["PATH"] = bin + ":" + r.variables["PATH"]
	want(t, "a program behind a link", r.starts(mcp.Server{Command: "tools"}).run("echo here"), "here")
	want(t, "a script behind a link", r.starts(mcp.Server{Command: "sh", Args: []string{filepath.Join(bin, "tools")}}).run("echo here"), "here")
	config := write(t, filepath.Join(folder(t), "config"), "settings")
	must(t, os.Symlink(config, filepath.Join(bin, "config")))
	s := r.starts(mcp.Server{Command: "sh", Args: []string{program, "--config=" + bin + "//config", "file://" + bin + "/config"}})
	want(t, "files behind links", s.run(`cat "${1#--config=}" "${2#file://}"`), "settingssettings")
	interpreter := write(t, filepath.Join(folder(t), "run"), "#!/bin/sh\nshift 0; exec sh \"$1\"\n")
	interpreted := write(t, filepath.Join(folder(t), "server"), "#!"+interpreter+"\n"+shellText)
	want(t, "an interpreter of its own", r.starts(mcp.Server{Command: interpreted}).run("echo here"), "here")
}

// TestAnExecutionOlderThanEnvironments has servers that see the workspace alone.
func TestAnExecutionOlderThanEnvironments(t *testing.T) {
	r := newRig(t)
	r.use.Environment = domain.Environment{}
	other := folder(t)
	want(t, "another folder", r.starts(mcp.Server{Command: script(t)}).run("ls "+other+" 2>/dev/null || echo none"), "none")
	r.use.Environment = domain.Environment{Name: "gone"}
	if message := r.refusal(mcp.Server{Command: script(t)}, domain.CodeEnvironmentUnavailable); !strings.Contains(message, "gone") {
		t.Error(message)
	}
}

// TestWithoutIsolationAProgramIsNotStarted, unless its entry or the execution names an environment without.
func TestWithoutIsolationAProgramIsNotStarted(t *testing.T) {
	r := newRig(t)
	var err error
	if r.sandbox, err = sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.ModeOff}); err != nil {
		t.Fatal(err)
	}
	for _, e := range []domain.Environment{{}, r.chosen("workspace")} {
		r.use.Environment = e
		if message := r.refusal(mcp.Server{Command: script(t)}, domain.CodeEnvironmentUnavailable); !strings.Contains(message, "SIGNOFF_SANDBOX=off") {
			t.Error(message)
		}
		if os.Getuid() == 0 { // who alone has programs run as another user
			s := r.starts(mcp.Server{Command: "sh", Args: []string{"-c", shellText}, Environment: "host"})
			want(t, "who it is, and where", s.run("id -un; pwd"), "nobody\n/")
		}
	}
}

// TestWhatSignoffHidesIsHiddenFromPrograms, also if an argument names it: the token of the API, say.
func TestWhatSignoffHidesIsHiddenFromPrograms(t *testing.T) {
	r := newRig(t)
	data := folder(t)
	token := write(t, filepath.Join(data, "token"), "t0ken")
	var err error
	r.sandbox, err = sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.ModeAuto, Hidden: []string{data}})
	must(t, err)
	if message := r.refusal(mcp.Server{Command: script(t), Args: []string{token}}, domain.CodeAgentUnavailable); !strings.Contains(message, token) {
		t.Error(message)
	}
	s := r.starts(mcp.Server{Command: script(t), Args: []string{filepath.Dir(data)}})
	want(t, "a folder around it", s.run("cat "+token+" 2>/dev/null || echo hidden"), "hidden")
}

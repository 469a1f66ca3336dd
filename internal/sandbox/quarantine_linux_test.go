package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"signoff/internal/domain"
)

// TestFilesThatOthersObeyArePutAway leaves, in a folder that has none of it, what others would obey. What was written is kept
// under another name.
func TestFilesThatOthersObeyArePutAway(t *testing.T) {
	writes := map[string]string{
		".git/hooks/pre-commit":       "mkdir -p .git/hooks; echo bad > .git/hooks/pre-commit",
		".git/commondir":              "mkdir .git; echo ../evil > .git/commondir",
		".git/config.worktree":        "mkdir .git; echo bad > .git/config.worktree",
		".git/modules/a/config":       "mkdir -p .git/modules/a; echo bad > .git/modules/a/config",
		".git":                        "echo gitdir: evil > .git",
		".git/HEAD":                   "mkdir evil; echo bad > evil/HEAD; ln -s evil .git",
		".git/config":                 "mkdir .git; mkfifo .git/config",
		"HEAD":                        "mkdir evil; echo ../evil > commondir; echo bad > HEAD",
		".envrc":                      "echo bad > .envrc",
		".mcp.json":                   "echo bad > .mcp.json; chmod 0 .mcp.json; chmod 555 .",
		".claude/settings.json":       "mkdir .claude; echo bad > .claude/settings.json; chmod 0 .claude",
		".claude/settings.local.json": "mkdir evil; echo bad > evil/settings.local.json; ln -s $PWD/evil .claude",
		".vscode/tasks.json":          "mkdir .vscode; ln -s ../evil .vscode/tasks.json",
		".opencode/plugin/a.js":       "mkdir -p .opencode/plugin; echo bad > .opencode/plugin/a.js",
		"signoff.yaml":                "echo bad > signoff.yaml",
		".cursor/mcp.json":            "rm .cursor; mkdir .cursor; echo bad > .cursor/mcp.json",
	}
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		for path, script := range writes {
			dir := folder(t)
			write(t, filepath.Join(dir, ".cursor"), "a file where a folder belongs")
			output, result := shell(t, s, dir, script)
			if _, err := os.Lstat(filepath.Join(dir, path)); err == nil || result.ExitCode != 0 {
				t.Errorf("%s is there: %s", path, output)
			}
			if !strings.Contains(output, "signoff: put away, because programs outside would take orders from it: ") {
				t.Errorf("%s: nothing was told: %s", path, output)
			}
			kept, _ := exec.Command("find", dir, "-name", "*.planted-*").Output()
			if len(kept) == 0 {
				t.Errorf("%s was lost", path)
			}
		}
	})
}

// TestOrdinaryRepositoriesStay makes one with git itself, by two commands, and another one with a driver in its config.
func TestOrdinaryRepositoriesStay(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED, there is no git")
	}
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		output, result := shell(t, s, dir, `git init -q . && git config user.name A && git config user.email a@example.com &&
			git remote add origin https://example.com/a.git && echo x > x && git add x && git commit -qm first`)
		if output != "" || result.ExitCode != 0 {
			t.Fatalf("%+v, %s", result, output)
		}
		if output, _ := shell(t, s, dir, "echo y > y && git add y && git commit -qm second && git log --format=%s"); output != "second\nfirst\n" {
			t.Errorf("%s", output)
		}
		other := folder(t)
		output, _ = shell(t, s, other, `git init -q . && git config core.fsmonitor "touch bad" && git config user.name A`)
		text := content(t, filepath.Join(other, gitConfig))
		if strings.Contains(text, "bad") || !strings.Contains(text, "name = A") || !strings.Contains(output, "without what could run programs") {
			t.Errorf("config %s, output %s", text, output)
		}
		if output, result := shell(t, s, other, "git status"); result.ExitCode != 0 {
			t.Errorf("the repository is none any more: %s", output)
		}
	})
}

func TestPlainConfig(t *testing.T) {
	harmless := "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n[remote \"origin\"]\n" +
		"\turl = git@github.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"
	if got := plainConfig(harmless); got != harmless {
		t.Errorf("%s", got)
	}
	for _, line := range []string{
		"\tfsmonitor = sh -c bad", "\thooksPath = bad", "\thookspath = bad", "\tsshCommand = bad", "\teditor = bad", "\tpager = bad",
		"\tworktree = /", "\tbare = false ; bad", "\tfilemode = \"true", "\tfilemode = true \\", "[include]\n\tpath = bad",
		"[includeIf \"gitdir:/\"]\n\tpath = bad", "[alias]\n\tst = !bad", "[filter \"a\"]\n\tclean = bad", "[diff]\n\texternal = bad",
		"[remote \"a\"]\n\turl = ext::bad", "[remote \"a\"]\n\turl = --upload-pack=bad", "[remote \"a\"]\n\tuploadpack = bad",
		"[remote \"a\"]\n\tvcs = bad", "[credential]\n\thelper = bad", "[gpg]\n\tprogram = bad", "[core] fsmonitor = bad",
		"[core]fsmonitor = bad", "[core.]\n\tfsmonitor = bad", "[url \"bad\"]\n\tinsteadOf = https", "[branch \"a\"]\n\tdescription = bad",
		"[core \"\\\"\"]\n\tfsmonitor = bad", "\tfilemode = true\r\tfsmonitor = bad",
	} {
		got := strings.TrimPrefix(plainConfig(harmless+"[core]\n"+line+"\n"), harmless)
		for _, harm := range []string{"bad\n", "worktree =", "upload-pack", "\\", ";", "\r", "\"true"} {
			if strings.Contains(got, harm) {
				t.Errorf("%q leaves %q", line, got)
			}
		}
	}
}

// TestSecondNameOfAConfig keeps a hard link to a config, to write through when the config itself is read-only.
func TestSecondNameOfAConfig(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		shell(t, s, dir, "mkdir .git && printf '[core]\\n\\tbare = false\\n' > .git/config && ln .git/config second")
		shell(t, s, dir, "printf '[core]\\n\\tfsmonitor = bad\\n' > second")
		if text := content(t, filepath.Join(dir, gitConfig)); strings.Contains(text, "bad") {
			t.Errorf("%s", text)
		}
	})
}

func TestTrustedFilesAreReadOnly(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		for _, path := range trusted {
			if path == ".opencode" {
				path += "/plugin.js"
			}
			write(t, filepath.Join(dir, path), "good")
		}
		write(t, filepath.Join(dir, ".git/commondir"), "good")
		write(t, filepath.Join(dir, ".git/worktrees/a/commondir"), "good")
		output, _ := shell(t, s, dir, `for f in $(find . -type f); do echo bad > $f; rm -f $f; mv $f /tmp/x; done; for d in .[a-z]*; do mv $d y; done
			mkdir -p .claude && echo bad > .claude/settings.json`)
		files, _ := exec.Command("sh", "-c", "cd "+dir+" && cat $(find . -type f)").Output()
		if want := strings.Repeat("good", len(trusted)+2); string(files) != want {
			t.Errorf("the files hold %q: %s", files, output)
		}
	})
}

// TestProtectedLinkIsRestored has the server's configuration be a link, as deployments make them, or not be there at all.
func TestProtectedLinkIsRestored(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		dir := folder(t)
		target := write(t, filepath.Join(folder(t), "real.yaml"), "good")
		link, missing := filepath.Join(dir, "signoff.yaml"), filepath.Join(dir, "deep/other.yaml")
		must(t, os.Symlink(target, link))
		s.config = Config{ReadOnly: []string{link, missing}}
		must(t, s.settlePaths())
		output, _ := shell(t, s, dir, "rm signoff.yaml; echo bad > signoff.yaml; mkdir deep; echo bad > deep/other.yaml")
		if got := content(t, link); got != "good" {
			t.Errorf("the configuration is %q: %s", got, output)
		}
		if _, err := os.Lstat(missing); err == nil {
			t.Errorf("another configuration was left: %s", output)
		}
	})
}

// TestQuarantineWithoutAServer kills the server of a command that has written what others obey.
func TestQuarantineWithoutAServer(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		m, dir := mark(), folder(t)
		server := exec.Command(self, "__server", string(s.method), dir, fmt.Sprintf("echo bad > .envrc; sleep %s", m))
		must(t, server.Start())
		eventually(t, "it is written", func() bool { return len(alive(m)) == 1 })
		must(t, server.Process.Kill())
		_ = server.Wait()
		eventually(t, "it is put away", func() bool {
			_, err := os.Lstat(filepath.Join(dir, ".envrc"))
			return os.IsNotExist(err)
		})
	})
}

// TestQuarantineDoesNotLeaveTheWorkspace puts links in the way of what is put away.
func TestQuarantineDoesNotLeaveTheWorkspace(t *testing.T) {
	each(t, isolated, func(t *testing.T, s *Sandbox) {
		outside, dir := folder(t), folder(t)
		file := write(t, filepath.Join(outside, "settings.json"), "good")
		output, _ := run(t, s, domain.Command{Argv: []string{"ln", "-s", outside, ".claude"}, Dir: dir})
		if got := content(t, file); got != "good" {
			t.Errorf("a file outside was moved: %s", output)
		}
		if _, err := os.Lstat(filepath.Join(dir, ".claude")); err == nil {
			t.Errorf("the link is there: %s", output)
		}
	})
}

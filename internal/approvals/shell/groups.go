package shell

import (
	"slices"
	"strings"
)

// group is a program with sub-commands, of which some only read.
type group struct {
	globals options         // what may stand before the sub-command
	reading map[string]bool // sub-commands, of one word or two, that only read
	harm    harm            // options with which they do not
}

// groups are programs with sub-commands.
var groups = map[string]group{
	"kubectl": {
		globals: options{values: "nv", valued: []string{"namespace", "context", "cluster", "request-timeout", "v"}},
		reading: set(`get describe logs top version api-resources api-versions cluster-info explain events
			config:view config:get-contexts config:current-context config:get-clusters rollout:status rollout:history
			auth:can-i auth:whoami`),
		harm: harm{letters: "s", long: []string{"kubeconfig", "server", "cache-dir", "profile", "profile-output", "output-directory",
			"certificate-authority", "client-key", "client-certificate", "token"}},
	},
	"docker": containers, "podman": containers,
	"systemctl": {
		globals: options{flags: "alq", values: "tnpo", long: []string{"no-pager", "all", "failed", "full", "plain", "no-legend", "quiet", "user", "system"},
			valued: []string{"type", "state", "output", "lines", "property"}},
		reading: set(`status show cat is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets
			list-dependencies list-jobs get-default is-system-running`),
		harm: harm{letters: "HM", long: []string{"host", "machine", "root", "image"}},
	},
	"helm": {
		globals: options{values: "n", valued: []string{"namespace", "kube-context"}},
		reading: set("list ls status history get version"),
		harm:    harm{long: []string{"kubeconfig", "kube-apiserver", "kube-token", "kube-ca-file", "post-renderer", "repository-config", "registry-config"}},
	},
	"apt":       packages,
	"apt-cache": packages,
}

var containers = group{
	reading: set(`ps images logs inspect stats version info top port diff history events search
		container:ls container:ps container:list container:inspect container:logs container:stats container:top container:port
		image:ls image:list image:inspect image:history network:ls network:list network:inspect volume:ls volume:list volume:inspect system:df system:info
		compose:ps compose:logs compose:top compose:ls compose:images compose:version context:ls node:ls node:ps
		service:ls service:ps service:logs service:inspect stack:ls stack:ps stack:services`),
}

var packages = group{
	reading: set("list show search policy depends rdepends madison pkgnames stats showpkg"),
	harm:    harm{letters: "oc", long: []string{"option", "config-file"}},
}

func (g group) judge(r *reading, c *call) {
	p := g.globals.parse(c.args(), true)
	if odd, found := p.odd(); found && !justVersion(c.args()) {
		r.unclear("What %s does with its option %s is not known.", c.name(), quoted(odd.name))
	}
	if len(p.operands) == 0 {
		return
	}
	if !subcommand(g.reading, p.operands) {
		c.runs = true
		r.suspect(c.args())
	}
	if arg, found := g.harm.in(p.operands[1:]); found {
		r.unclear("%s may write, run or connect to something by %s.", c.name(), quoted(arg))
	}
}

// subcommand reports whether words begin with one of these, in one word or in two.
func subcommand(known map[string]bool, words []word) bool {
	if words[0].kind != plain {
		return false
	}
	if len(words) > 1 && words[1].kind == plain && known[words[0].text+":"+words[1].text] {
		return true
	}
	return known[words[0].text]
}

// Sub-commands of git. What is in none of these may be an alias, and an alias may run anything.
var (
	gitReads = set(`status log diff show blame annotate rev-parse rev-list ls-files ls-tree describe shortlog cat-file grep name-rev
		merge-base diff-tree diff-index diff-files for-each-ref show-ref count-objects whatchanged version check-ignore range-diff
		cherry show-branch var stash:list stash:show worktree:list remote:get-url reflog:show`)
	gitActs = set(`add commit push pull fetch clone checkout switch restore reset merge cherry-pick revert rm mv clean init
		branch tag remote stash worktree reflog apply am notes gc fsck prune format-patch archive bundle ls-remote
		rebase update-ref symbolic-ref sparse-checkout repack replace`)
	gitHarm = harm{long: []string{"output", "ext-diff", "open-files-in-pager", "upload-pack", "receive-pack", "exec", "config", "template", "interactive"}}
)

// repository is git: it reads, or it runs hooks, filters and helpers of the repository.
func (r *reading) repository(c *call) {
	r.git = true
	known := options{flags: "P", long: []string{"no-pager", "no-optional-locks", "version", "no-replace-objects"}}
	p := known.parse(c.args(), true)
	r.refuseOdd(c, p)
	if len(p.operands) == 0 {
		return
	}
	name, rest := p.operands[0].text, p.operands[1:]
	switch {
	case subcommand(gitReads, p.operands), gitLists(name, rest):
	case gitActs[name]:
		c.runs = true
	default:
		r.unclear("git %s may run anything.", quoted(name))
		r.suspect(rest)
	}
	r.gitOptions(name, rest)
}

// gitOptions looks for options, and addresses, that run a command.
func (r *reading) gitOptions(name string, rest []word) {
	if arg, found := gitHarm.in(rest); found {
		r.unclear("git may write or run something by %s.", quoted(arg))
	}
	for _, arg := range rest {
		if strings.Contains(arg.text, "ext::") {
			r.unclear("git runs the command in %s.", quoted(arg.text))
			r.suspect(rest)
		}
	}
	letters := map[string]string{"grep": "O", "rebase": "xi", "clone": "cu", "fetch": "u", "add": "ie", "ls-remote": "u", "archive": "o"}[name]
	if arg, found := (harm{letters: letters}).in(rest); found && letters != "" {
		r.unclear("git %s may run something by %s.", name, quoted(arg))
	}
}

// gitLists are sub-commands that list without operands, and change something with them.
func gitLists(name string, rest []word) bool {
	known := map[string]options{
		"branch": {flags: "arlvq", long: []string{"list", "all", "remotes", "verbose", "show-current", "no-color"}, valued: []string{"sort", "format", "contains", "merged", "no-merged"}},
		"tag":    {flags: "l", long: []string{"list"}, valued: []string{"sort", "format", "contains", "points-at"}},
		"remote": {flags: "v", long: []string{"verbose"}},
		"reflog": {flags: "n"},
		"config": {flags: "lz", long: []string{"get", "get-all", "get-regexp", "list", "show-origin", "global", "local", "system", "null"}},
	}
	o, found := known[name]
	if !found {
		return false
	}
	p := o.parse(rest, false)
	if _, odd := p.odd(); odd || slices.ContainsFunc(rest, func(w word) bool { return w.kind == wild }) {
		return false
	}
	if name == "config" {
		return p.has("l", "list", "get", "get-all", "get-regexp")
	}
	return len(p.operands) == 0 || p.has("l", "list")
}

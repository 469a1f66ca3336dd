package shell

import (
	"slices"
	"strings"
)

// destroyer is a program with sub-commands, some of which take away what others work with: machines, volumes, databases,
// buckets, projects, releases. What they take away is somewhere else, and no backup of this machine has it.
type destroyer struct {
	verbs []string // sub-commands, from the program's first word on; see [follow]
	with  []string // sub-commands that destroy with one of the options in their brackets: "s3 rm [--recursive]"
	dry   string   // letters of options with which it only shows what it would do
}

// destroyers are the programs that manage infrastructure, with all that destroys.
var destroyers = map[string]destroyer{
	"helm":     {verbs: []string{"uninstall", "delete", "del", "un"}},
	"argocd":   {verbs: []string{"app delete", "proj delete", "cluster rm"}},
	"flux":     {verbs: []string{"uninstall", "delete"}},
	"velero":   {verbs: []string{"backup delete", "uninstall"}},
	"etcdctl":  {verbs: []string{"snapshot restore"}, with: []string{"del [--prefix --from-key]"}},
	"consul":   {with: []string{"kv delete [-recurse]"}},
	"vault":    {verbs: []string{"secrets disable", "kv destroy", "kv metadata delete", "operator seal", "auth disable"}},
	"nomad":    {with: []string{"job stop [-purge]", "stop [-purge]"}},
	"eksctl":   {verbs: []string{"delete"}},
	"kops":     {verbs: []string{"delete"}},
	"aws":      {verbs: []string{"s3 rb", "* delete-*", "* batch-delete-*", "* terminate-*", "* deregister-*", "* purge-*", "* destroy-*", "* remove-*", "* schedule-key-deletion"}, with: []string{"s3 rm [--recursive]", "s3 sync [--delete]"}},
	"gcloud":   {verbs: []string{"** delete", "** destroy", "** remove"}, with: []string{"storage rm [-r -R --recursive]"}},
	"gsutil":   {verbs: []string{"rb"}, with: []string{"rm [-r -R]", "rsync [-d]"}},
	"bq":       {verbs: []string{"rm"}},
	"az":       {verbs: []string{"** delete", "** delete-batch", "** purge", "** remove"}},
	"oci":      {verbs: []string{"** delete", "** terminate", "** bulk-delete"}},
	"ibmcloud": {verbs: []string{"** delete", "** rm", "** *-delete", "** *-rm"}},
	"docker":   containerDestroyer, "podman": containerDestroyer, "nerdctl": containerDestroyer,
	"docker-compose": {with: []string{"down [-v --volumes]", "rm [-v]"}},
	"cdk":            {verbs: []string{"destroy"}},
	"sam":            {verbs: []string{"delete"}},
	"serverless":     {verbs: []string{"remove"}},
	"sls":            {verbs: []string{"remove"}},
	"terraform":      terraformer, "tofu": terraformer, "terragrunt": terraformer,
	"pulumi":  {verbs: []string{"destroy", "down", "dn", "stack rm"}},
	"heroku":  {verbs: []string{"apps:destroy", "apps:delete", "pg:reset", "addons:destroy", "destroy"}},
	"fly":     {verbs: []string{"** destroy", "** delete"}},
	"flyctl":  {verbs: []string{"** destroy", "** delete"}},
	"vercel":  {verbs: []string{"** remove", "** rm"}},
	"netlify": {verbs: []string{"sites:delete"}},
	"gh":      {verbs: []string{"repo delete", "release delete", "secret delete"}},
	"glab":    {verbs: []string{"repo delete", "project delete"}},
	"npm":     {verbs: []string{"unpublish"}},
	"nvme":    {verbs: []string{"format", "sanitize", "delete-ns", "write-zeroes"}},
	"btrfs":   {verbs: []string{"subvolume delete"}},
	"mdadm":   {with: []string{"[--zero-superblock --stop]"}},
	"hdparm":  {with: []string{"[--security-erase* --trim-sector-ranges*]"}},
	"ceph":    {verbs: []string{"osd purge", "osd destroy", "pool delete", "fs rm", "osd pool delete"}},
	"rbd":     {verbs: []string{"rm", "remove"}},
	"mc":      {verbs: []string{"rb"}, with: []string{"rm [-r --recursive]"}},
	"rclone":  {verbs: []string{"purge", "delete", "rmdirs"}, dry: "n"},
	"s3cmd":   {verbs: []string{"rb"}, with: []string{"del [-r --recursive]", "rm [-r --recursive]"}, dry: "n"},
	"restic":  {with: []string{"forget [--prune]"}, dry: "n"},
	"borg":    {verbs: []string{"delete"}, dry: "n"},
	"zpool":   {verbs: []string{"destroy", "labelclear"}},
	"zfs":     {verbs: []string{"destroy"}, dry: "n"},
}

var (
	containerDestroyer = destroyer{
		verbs: []string{"volume rm", "volume remove", "volume prune", "stack rm", "stack remove", "secret rm", "swarm leave", "machine rm", "system reset"},
		with:  []string{"system prune [--volumes]", "compose down [-v --volumes]", "compose rm [-v --volumes]"},
	}
	terraformer = destroyer{verbs: []string{"destroy", "state rm", "workspace delete", "run-all destroy", "run destroy"}, with: []string{"apply [-destroy --destroy]"}}
)

func init() {
	for _, name := range strings.Fields("doctl hcloud linode-cli vultr-cli vultr civo scw exo yc aliyun openstack nova ovhcloud upctl rancher") {
		destroyers[name] = destroyer{verbs: []string{"** delete", "** destroy", "** terminate", "** delete-*", "** rm", "** remove"}}
	}
	for name, d := range destroyers {
		disasters[name] = d.check(name)
	}
}

// check is the check of the arguments of a destroyer.
func (d destroyer) check(name string) func([]string) string {
	return func(args []string) string {
		if dryRun(args, d.dry) {
			return ""
		}
		for _, verb := range d.verbs {
			if _, found := follow(args, verb); found {
				return "It destroys what others work with: " + name + " " + strings.TrimPrefix(verb, "** ") + "."
			}
		}
		for _, line := range d.with {
			verb, options, _ := strings.Cut(strings.TrimSuffix(line, "]"), "[")
			if _, found := follow(args, verb); found && slices.ContainsFunc(args, isOption(strings.Fields(options))) {
				return "It destroys what others work with: " + name + " " + verb + "with " + strings.ReplaceAll(options, " ", " or ") + "."
			}
		}
		return ""
	}
}

// unversioned is the name of a program without its version: helm3 is helm.
func unversioned(name string) string {
	short := strings.TrimRight(name, "0123456789.-_")
	if _, found := destroyers[short]; found {
		return short
	}
	return name
}

// isOption reports whether a word is one of these options, also among the letters of a cluster, or with a value.
func isOption(options []string) func(string) bool {
	return func(arg string) bool {
		name, value, _ := strings.Cut(arg, "=")
		if value == "false" {
			return false
		}
		return slices.ContainsFunc(options, func(option string) bool {
			return is(name, option) || len(option) == 2 && cluster(arg, option[1:])
		})
	}
}

var (
	// valued are options that have a value, which is no sub-command, however it reads.
	valued = set(`--profile --region --output --query --filter --filters --filter-pattern --namespace --context --name --project --format
		--kube-context --selector --resource-group --subscription --app -n -g -o -l -a`)
	// flags are options that have none. Any other option may have one.
	flags = set("--debug --verbose --quiet --silent --yes --force --insecure --tls --all --recursive -v -q -y -i -m -r -R")
	// acts are sub-commands behind which no other one stands: a name does.
	acts = set(`list ls show get describe view read status info inspect create add set update edit apply install upgrade start stop
		restart exec ssh scp cp copy sync wait open attach invoke call help version history stash`)
)

// mayHaveValue reports whether the word behind an option may be its value.
func mayHaveValue(option string) bool {
	return !flags[option] && !strings.HasPrefix(option, "--no-") && !strings.Contains(option, "=") && option != "--"
}

// follow reports whether the arguments of a program begin with a sub-command, but for options and their values, and returns
// what stands behind it. In a sub-command, * is any word, delete-* and *-delete are words with this beginning or end, and **
// is any number of words; neither is one of the [acts]. What stands elsewhere is a name: helm status delete.
func follow(args []string, subcommand string) (rest []string, found bool) {
	verb := strings.Fields(subcommand)
	if len(verb) == 0 {
		return args, true
	}
	// An option that nobody knows may have a value, or not: both readings count. So these are sets of places in the verb, a
	// bit for each: where it may stand before this argument, before the next one, and before the one behind that.
	here, next, behind := uint8(1), uint8(0), uint8(0)
	for i, arg := range args {
		if strings.HasPrefix(arg, "-") {
			if !valued[arg] {
				next |= here
			}
			if mayHaveValue(arg) && i+1 < len(args) && !acts[args[i+1]] {
				behind |= here
			}
		} else {
			next |= goesOn(verb, here, arg)
		}
		if next&(1<<len(verb)) != 0 {
			return args[i+1:], true
		}
		here, next, behind = next, behind, 0
	}
	return nil, false
}

// goesOn returns where in a verb one may stand behind a word, having stood at these places before it.
func goesOn(verb []string, at uint8, word string) (next uint8) {
	for i, want := range verb {
		if at&(1<<i) == 0 {
			continue
		}
		switch {
		case want == "**":
			at |= 1 << (i + 1) // it may also be no word at all
			if is(word, want) {
				next |= 1 << i
			}
		case is(word, want):
			next |= 1 << (i + 1)
		}
	}
	return next
}

func is(word, pattern string) bool {
	switch {
	case pattern == "*", pattern == "**":
		return isSubcommand(word) && !acts[word]
	case strings.HasPrefix(pattern, "*"):
		return strings.HasSuffix(word, pattern[1:])
	case strings.HasSuffix(pattern, "*"):
		return strings.HasPrefix(word, pattern[:len(pattern)-1])
	}
	return word == pattern
}

func isSubcommand(word string) bool {
	return strings.IndexFunc(word, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != ':' && c != '_'
	}) < 0
}

// dryRun reports whether a program is told, for certain, to show what it does, or would do: by --help or --dry-run, or by one
// of these letters.
func dryRun(args []string, letters string) bool {
	told := false
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return told
		case strings.HasPrefix(name, "--no-dry"):
			return false
		case arg != "--help" && name != "--dry-run" && name != "--dryrun" && (len(arg) != 2 || letters == "" || !cluster(arg, letters)):
		case given && !slices.Contains([]string{"true", "client", "server"}, value):
			return false
		case i == 0 || !strings.HasPrefix(args[i-1], "-") || !mayHaveValue(args[i-1]):
			told = true
		}
	}
	return told
}

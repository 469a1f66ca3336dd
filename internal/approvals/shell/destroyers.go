package shell

import (
	"slices"
	"strings"
)

// destroyer is a program with sub-commands, some of which take away what others work with: machines, volumes, databases,
// buckets, projects, releases. What they take away is somewhere else, and no backup of this machine has it.
type destroyer struct {
	verbs []string // sub-commands: words that follow each other; a star at the end of a word is whatever follows
	with  []string // sub-commands that destroy with one of the options in their brackets: "s3 rm [--recursive]"
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
	"aws":      {verbs: []string{"s3 rb", "delete-*", "terminate-*", "deregister-*", "purge-*", "destroy-*", "remove-*", "schedule-key-deletion"}, with: []string{"s3 rm [--recursive]", "s3 sync [--delete]"}},
	"gcloud":   {verbs: []string{"delete", "destroy", "remove"}, with: []string{"storage rm [-r -R --recursive]"}},
	"gsutil":   {verbs: []string{"rb"}, with: []string{"rm [-r -R]", "rsync [-d]"}},
	"bq":       {verbs: []string{"rm"}},
	"az":       {verbs: []string{"delete", "delete-batch", "purge", "remove"}},
	"oci":      {verbs: []string{"delete", "terminate", "bulk-delete"}},
	"ibmcloud": {verbs: []string{"delete", "rm", "*-delete", "*-rm"}},
	"docker":   containerDestroyer, "podman": containerDestroyer, "nerdctl": containerDestroyer,
	"docker-compose": {with: []string{"down [-v --volumes]", "rm [-v]"}},
	"cdk":            {verbs: []string{"destroy"}},
	"sam":            {verbs: []string{"delete"}},
	"serverless":     {verbs: []string{"remove"}},
	"sls":            {verbs: []string{"remove"}},
	"terraform":      terraformer, "tofu": terraformer, "terragrunt": terraformer,
	"pulumi":  {verbs: []string{"destroy", "stack rm"}},
	"heroku":  {verbs: []string{"apps:destroy", "apps:delete", "pg:reset", "addons:destroy", "destroy"}},
	"fly":     {verbs: []string{"destroy", "delete"}},
	"flyctl":  {verbs: []string{"destroy", "delete"}},
	"vercel":  {verbs: []string{"remove", "rm"}},
	"netlify": {verbs: []string{"sites:delete"}},
	"gh":      {verbs: []string{"repo delete", "release delete", "secret delete"}},
	"glab":    {verbs: []string{"repo delete", "project delete"}},
	"npm":     {verbs: []string{"unpublish"}},
	"nvme":    {verbs: []string{"format", "sanitize", "delete-ns", "write-zeroes"}},
	"btrfs":   {verbs: []string{"subvolume delete"}},
	"mdadm":   {verbs: []string{"--zero-superblock", "--stop"}},
	"hdparm":  {verbs: []string{"--security-erase*", "--trim-sector-ranges*"}},
	"ceph":    {verbs: []string{"osd purge", "osd destroy", "pool delete", "fs rm", "osd pool delete"}},
	"rbd":     {verbs: []string{"rm", "remove"}},
	"mc":      {verbs: []string{"rb"}, with: []string{"rm [-r --recursive]"}},
	"rclone":  {verbs: []string{"purge", "delete", "rmdirs"}},
	"s3cmd":   {verbs: []string{"rb"}, with: []string{"del [-r --recursive]", "rm [-r --recursive]"}},
	"restic":  {with: []string{"forget [--prune]"}},
	"borg":    {verbs: []string{"delete"}},
	"zpool":   {verbs: []string{"destroy", "labelclear"}},
	"zfs":     {verbs: []string{"destroy"}},
}

var (
	containerDestroyer = destroyer{
		verbs: []string{"volume rm", "volume remove", "volume prune", "stack rm", "stack remove", "secret rm", "swarm leave", "machine rm", "system reset"},
		with:  []string{"system prune [--volumes]", "compose down [-v --volumes]", "compose rm [-v --volumes]"},
	}
	terraformer = destroyer{verbs: []string{"destroy", "-destroy", "--destroy", "state rm", "workspace delete", "run-all destroy"}}
)

func init() {
	for _, name := range strings.Fields("doctl hcloud linode-cli vultr-cli vultr civo scw exo yc aliyun openstack nova ovhcloud upctl rancher") {
		destroyers[name] = destroyer{verbs: []string{"delete", "destroy", "terminate", "delete-*", "rm", "remove"}}
	}
	for name, d := range destroyers {
		disasters[name] = d.check(name)
	}
}

// check is the check of the arguments of a destroyer.
func (d destroyer) check(name string) func([]string) string {
	return func(args []string) string {
		words := subcommandsOf(args)
		for _, verb := range d.verbs {
			if follow(words, strings.Fields(verb)) {
				return "It destroys what others work with: " + name + " " + verb + "."
			}
		}
		for _, line := range d.with {
			verb, options, _ := strings.Cut(strings.TrimSuffix(line, "]"), " [")
			if follow(words, strings.Fields(verb)) && slices.ContainsFunc(args, isOption(strings.Fields(options))) {
				return "It destroys what others work with: " + name + " " + verb + ", with everything in it."
			}
		}
		return ""
	}
}

// isOption tells whether a word is one of these options, also among the letters of a cluster, or with a value.
func isOption(options []string) func(string) bool {
	return func(arg string) bool {
		name, value, _ := strings.Cut(arg, "=")
		if value == "false" {
			return false
		}
		return slices.ContainsFunc(options, func(option string) bool {
			return name == option || len(option) == 2 && cluster(arg, option[1:])
		})
	}
}

// looking are options whose value is no sub-command, however it reads.
var looking = set(`--profile --region --output --query --filter --filters --filter-pattern --namespace --context --name --project --format
	--kube-context --selector --resource-group --subscription -n -g -o -l -f --file`)

// subcommandsOf are the words of a command without the values of options that are known to look.
func subcommandsOf(args []string) []string {
	var words []string
	for i, arg := range args {
		if i == 0 || !looking[args[i-1]] {
			words = append(words, arg)
		}
	}
	return words
}

// follow tells whether words have a verb in them, one of its words behind the other, but for options between them. What
// stands behind a word that no sub-command could be is a name.
func follow(words, verb []string) bool {
	at := 0
	for _, word := range words {
		if at > 0 && !is(word, verb[at]) && !strings.HasPrefix(word, "-") {
			at = 0
		}
		switch {
		case is(word, verb[at]):
			if at++; at == len(verb) {
				return true
			}
		case !strings.HasPrefix(word, "-") && !isSubcommand(word):
			return false
		}
	}
	return false
}

func is(word, pattern string) bool {
	switch {
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

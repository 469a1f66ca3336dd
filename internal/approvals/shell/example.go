package shell

import "signoff/internal/domain"

// Example is a policy for looking around on a machine: what only reads runs, everything else asks. The rules that the
// documentation of approvals shows are these.
var Example = domain.BashPolicy{
	DefaultBehavior: domain.Deny,
	DenyBehavior:    domain.DenyHITL,
	Rules: []domain.BashRule{
		{Name: "deny-destructive", Action: domain.Deny, Pattern: `^(rm|chmod|chown|mkfs|dd|shred)\b`},
		{Name: "allow-read-commands", Action: domain.Allow, Pattern: `^(cat|head|tail|grep|egrep|fgrep|rg|find|ls|tree|stat|file|wc|diff|cmp|du|readlink|realpath|basename|dirname|md5sum|sha256sum|zcat|zgrep|strings|hexdump|xxd|od)\b`},
		{Name: "allow-text-filters", Action: domain.Allow, Pattern: `^(sort|uniq|cut|tr|sed|awk|jq|yq|column|paste|join|comm|nl|tac|rev|fold|fmt|echo|printf|seq|xargs|base64)\b`},
		{Name: "allow-machine-state", Action: domain.Allow, Pattern: `^(df|free|uptime|ps|pgrep|pidof|vmstat|iostat|mpstat|sar|lsof|ss|netstat|lsblk|lscpu|lsmod|findmnt|blkid|dmesg|journalctl|last|who|w|id|whoami|groups|uname|arch|nproc|date|printenv|getent|dig|host|nslookup|ping)( |$)`},
		{Name: "allow-machine-settings", Action: domain.Allow, Pattern: `^(hostname( -[a-zA-Z])?|env|mount( -l)?|top -b.*|crontab -l|ip( -(4|6|s|d|br|brief|c|j|o))* (a|addr|address|r|route|l|link|n|neigh|rule)( (show|list|get)( .*)?)?)$`},
		{Name: "allow-shell-builtins", Action: domain.Allow, Pattern: `^(pwd|cd|which|whereis|type|command|test|\[|true|false|sleep|:|exit)( |$)`},
		{Name: "allow-service-state", Action: domain.Allow, Pattern: `^systemctl( --(no-pager|all|failed|full|user|system))* (status|show|cat|is-active|is-enabled|is-failed|list-(units|unit-files|timers|sockets|dependencies|jobs))\b`},
		{Name: "allow-git-reading", Action: domain.Allow, Pattern: `^git( --no-pager)? (status|log|diff|show|blame|rev-parse|rev-list|ls-files|ls-tree|describe|shortlog|grep|stash list|config --get)\b`},
		{Name: "allow-git-lists", Action: domain.Allow, Pattern: `^git( --no-pager)? ((branch|tag|remote)( -[arlv]+| --list| --all| --show-current)*|reflog|config (-l|--list))$`},
		{Name: "allow-container-state", Action: domain.Allow, Pattern: `^(docker|podman) (ps|images|logs|inspect|stats|version|info|top|port|compose (ls|ps|logs)|container (ls|list|ps|logs|inspect)|(image|network|volume) (ls|list|inspect))\b`},
		{Name: "allow-cluster-state", Action: domain.Allow, Pattern: `^kubectl( (-n|--namespace|--context)[ =][a-z0-9-]+)* (get|describe|logs|top|version|cluster-info|api-resources|explain|events|rollout (status|history))\b`},
	},
}

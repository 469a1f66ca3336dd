package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"signoff/internal/approvals/shell"
	"signoff/internal/domain"
)

// Source names the part that decided over a call.
type Source string

const (
	ByTools        Source = "tools"        // the execution's list of tools and secrets
	ByCapability   Source = "capability"   // the execution's capabilities
	ByBashPolicy   Source = "bashPolicy"   // the rules for command lines, or that a line cannot be judged by any
	ByCatastrophe  Source = "catastrophic" // commands that always ask
	ByRule         Source = "rule"         // a permission rule: a remembered decision, or an operator's word
	ByPin          Source = "pin"          // the definition of an MCP tool is not the one that a person has approved
	ByEnvironment  Source = "environment"  // a pattern of the operator for commands on the host
	BySafeMode     Source = "safeModeOff"  // the request's full trust
	ByUnattended   Source = "unattended"   // the execution is unattended
	ByCeiling      Source = "ceiling"      // the ceiling of an execution above the child
	ByDecision     Source = "decision"     // a person, just now
	ByAgent        Source = "agent"        // an external agent, by itself: it did not ask
	ByExpiry       Source = "expiry"       // nobody answered in time
	ByServer       Source = "server"       // the call could not run, or ended with its execution
	ByBrokenPolicy Source = "brokenPolicy" // the stored policy cannot be read: never means allow
)

// Policy judges the tool calls of an execution. It never changes, except for the rules, which its session reads again.
type Policy struct {
	Rules     []domain.PermissionRule // those that hold: of the execution, and of the tenant
	Isolation Isolation               // that the call would run in; nil where nothing isolates it

	// Environment is what the call would see of the machine, by the operator's present definition. It is nil for an execution that is older than
	// environments, and for a call that an external agent runs outside of any. [NewPolicy] knows only the name, and that may stand for anything.
	Environment *domain.Environment

	// Servers says how far MCP servers are trusted; nil: not at all. Pin is that of the tool of the call that is judged; nil: nobody has approved it.
	Servers Servers
	Pin     *domain.MCPPin

	agent        string                  // whose calls they are, as matchers name it
	directory    string                  // that relative names are meant in
	clients      []string                // tools that the client runs, not this machine
	written      []domain.PermissionRule // of the request itself
	capabilities domain.Capabilities
	enabled      []string // nil = all
	secrets      []string
	bash         *shell.Policy
	safeModeOff  bool
	unattended   bool
	broken       bool
	ceilings     []ceiling // of the executions above, the ceiling of the root first
}

// NewPolicy reads a request. A policy that cannot be read refuses everything: it comes with the error, because a request
// that was stored by another version must not make its execution free. The ceilings above a child judge its calls, too.
func NewPolicy(request domain.Request) (Policy, error) {
	policy, err := newPolicy(request)
	above, unread := ceilingsOf(request, policy)
	policy.ceilings = above
	return policy, cmp.Or(err, unread)
}

func newPolicy(request domain.Request) (Policy, error) {
	policy := Policy{
		agent: internalAgent, directory: request.WorkingDirectory, capabilities: request.Capabilities, enabled: request.Tools.Enabled, secrets: request.Secrets,
		safeModeOff: request.SafeModeOff, unattended: request.Unattended,
	}
	if request.Environment.Name != "" {
		policy.Environment = &domain.Environment{Name: request.Environment.Name}
	}
	for _, tool := range request.ClientTools {
		policy.clients = append(policy.clients, tool.Name)
	}
	if request.Source.Type == domain.SourceACP {
		policy.agent = request.Source.Command
	}
	for i, rule := range request.Rules {
		if stamp := request.Environment.Stamp(); stamp != nil && (rule.Matcher.Environment == "" || rule.Matcher.Environment == stamp.Name) {
			rule.Matcher.Environment, rule.Matcher.EnvironmentDigest = stamp.Name, stamp.Digest // they were written for this execution
		}
		policy.written = append(policy.written, domain.PermissionRule{ID: fmt.Sprintf("policy/rules/%d", i), Effect: rule.Effect, Matcher: rule.Matcher})
	}
	if request.Tools.BashPolicy == nil {
		return policy, nil
	}
	bash, err := shell.Compile(*request.Tools.BashPolicy)
	policy.bash, policy.broken = bash, err != nil
	return policy, err
}

// WrittenAt returns the policy with the time at which the rules of its request were written: they cover the MCP tools that were pinned by then.
func (p Policy) WrittenAt(at time.Time) Policy {
	p.written = slices.Clone(p.written)
	for i := range p.written {
		p.written[i].Created = at
	}
	return p
}

// Outside is the policy for calls of an external agent that runs in no environment. Rules of the request hold for them, too. Of the
// remembered rules, those that allow hold only if they name no environment.
func (p Policy) Outside() Policy {
	p.Environment = nil
	p.written = slices.Clone(p.written)
	for i := range p.written {
		p.written[i].Matcher.Environment, p.written[i].Matcher.EnvironmentDigest = "", ""
	}
	p.ceilings = slices.Clone(p.ceilings)
	for i := range p.ceilings {
		p.ceilings[i].policy = p.ceilings[i].policy.Outside()
	}
	return p
}

// internalAgent is the name of our own loop over a model in matchers.
const internalAgent = "internal"

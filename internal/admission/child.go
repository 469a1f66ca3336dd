package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"signoff/api"
	"signoff/internal/domain"
	"signoff/internal/keys"
)

// Child returns the request of a child that a call of its parent asks for: an agent profile, or a model or agent by itself, bounded by what the parent may
// delegate. What the call itself asks for beyond that is refused; what a profile has beyond it, the child does not have. Errors are words for the model of the
// parent. Earlier are the messages that go along with [domain.ContextItems].
func (a *Admission) Child(
	ctx context.Context, parent domain.Execution, callID string, wanted domain.DelegateArguments, earlier []domain.ContextMessage,
) (domain.Request, error) {
	if parent.Request.Delegation == nil {
		return domain.Request{}, domain.Errorf(domain.CodePolicyDenied, "%s may not delegate.", parent.AgentName())
	}
	c := delegated{Admission: a, parent: parent, wanted: wanted, ceiling: parent.Request.Delegation.Ceiling}
	request, err := c.request(ctx)
	if err == nil && wanted.Context == domain.ContextItems {
		request.Context, err = a.boundedContext(earlier)
		request.ContextFrom, request.ContextCalls = []domain.ExecutionID{parent.ID}, []domain.ExecutionID{parent.ID}
	}
	if err != nil {
		return domain.Request{}, inWords(err)
	}
	name := wanted.Profile
	if name == "" {
		name = request.Agent()
	}
	request.Parent = parent.ParentOf(callID, name, wanted.Writes())
	return request, nil
}

// delegated is a child that is about to be created.
type delegated struct {
	*Admission

	parent  domain.Execution
	wanted  domain.DelegateArguments
	ceiling domain.Ceiling // of the parent

	profile    *domain.AgentProfile // nil: a source by itself
	definition api.AgentProfileDefinition
	grants     []string // scopes that the definition is judged by
}

func (c *delegated) request(ctx context.Context) (domain.Request, error) {
	if err := c.find(ctx); err != nil {
		return domain.Request{}, err
	}
	if err := c.refuseMore(); err != nil {
		return domain.Request{}, err
	}
	if err := c.bound(); err != nil {
		return domain.Request{}, err
	}
	body := c.body()
	narrowed, wrong := c.narrow(cmp.Or(c.wanted.Profile, "that is asked"), c.definition, body)
	if len(wrong) > 0 {
		return domain.Request{}, wrong.error()
	}
	request, err := c.assembleResolved(ctx, keys.Principal{Tenant: c.parent.Tenant}.With(c.grants), narrowed)
	if err != nil && c.profile != nil {
		err = blameProfile(c.profile.Name, body, err)
	}
	if err != nil {
		return request, err
	}
	c.finish(&request)
	return request, c.checkPrices(request)
}

// find finds the agent that is asked.
func (c *delegated) find(ctx context.Context) error {
	delegation, wanted := c.parent.Request.Delegation, c.wanted
	switch {
	case (wanted.Profile == "") == (wanted.Source == nil):
		return domain.Errorf(domain.CodeInvalidArguments, "One of profile and source says which agent is asked.")
	case wanted.Source != nil && wanted.Source.Type != domain.SourceInternal && wanted.Source.Type != domain.SourceACP:
		return domain.Errorf(domain.CodeInvalidArguments, "A source has the type internal or acp.")
	case wanted.Source != nil && !delegation.Sources:
		return domain.Errorf(domain.CodePolicyDenied, "%s may ask agent profiles only: %s.", c.parent.AgentName(), orNone(delegation.Profiles))
	case wanted.Source != nil:
		c.definition, c.grants = c.byItself(), []string{string(keys.EnvironmentsUse)} // the ceiling names the environments
		return nil
	case delegation.Profiles != nil && !slices.Contains(delegation.Profiles, wanted.Profile):
		return domain.Errorf(domain.CodePolicyDenied, "%s may not ask the agent profile %q; it may ask: %s.", c.parent.AgentName(), wanted.Profile, whomItMayAsk(*delegation))
	}
	profile, err := c.knownProfile(ctx, c.parent.Tenant, wanted.Profile, 0)
	if err != nil {
		return err
	}
	c.profile, c.grants = &profile, profile.Grants
	if err := json.Unmarshal(profile.Definition, &c.definition); err != nil {
		return fmt.Errorf("admission: the definition of the agent profile %s: %w", profile.Name, err)
	}
	return nil
}

// byItself is a source without a profile, as a definition: it has the server's defaults, and of the classes that the call names what the ceiling has. Commands
// are asked for by name.
func (c *delegated) byItself() api.AgentProfileDefinition {
	granted := bareCapabilities(*c.config.Settings.Capabilities)
	for class := range c.wanted.Capabilities {
		granted = granted.With(map[domain.Class]domain.Verdict{class: c.ceiling.Capabilities.Of(class)})
	}
	return api.AgentProfileDefinition{Source: api.Source{Source: *c.wanted.Source}, Capabilities: namedCapabilities(granted)}
}

func bareCapabilities(byDefault domain.Capabilities) domain.Capabilities {
	return byDefault.With(map[domain.Class]domain.Verdict{domain.ClassExecute: domain.Deny})
}

// refuseMore refuses what the call itself asks for beyond the ceiling.
func (c *delegated) refuseMore() error {
	name := c.parent.AgentName()
	for _, class := range domain.Classes {
		most, verdict := c.ceiling.Capabilities.Of(class), c.wanted.Capabilities[class]
		if class == domain.ClassWrite && c.wanted.Writes() && most == domain.Deny {
			verdict = cmp.Or(verdict, domain.Ask)
		}
		if verdict.Exceeds(most) {
			return domain.Errorf(domain.CodePolicyDenied, "The ceiling of %s says %s for the capability %s, so no agent that it asks gets %s.", name, most, class, verdict)
		}
	}
	enabled := c.ceiling.Tools.Enabled
	if enabled != nil && c.definition.Source.Type == domain.SourceACP {
		return domain.Errorf(domain.CodePolicyDenied, "The ceiling of %s lists the tools of the agents that it asks, and an external agent brings its own.", name)
	}
	for _, tool := range c.wanted.Tools {
		if all := c.config.Tools.Names(); !slices.Contains(all, tool) && c.config.Tools.Missing(tool) == "" && !strings.HasPrefix(tool, "mcp__") {
			return domain.Errorf(domain.CodeInvalidArguments, "There is no tool %q; there are: %s.", tool, orNone(all))
		}
		if enabled != nil && !enables(enabled, tool) {
			return domain.Errorf(domain.CodePolicyDenied, "The ceiling of %s does not have the tool %q; it has: %s.", name, tool, orNone(enabled))
		}
	}
	if wanted := c.wanted.Environment; wanted != "" && environmentNamed(c.ceiling, wanted) == nil {
		return domain.Errorf(domain.CodePolicyDenied, "The ceiling of %s does not have the environment %q; it has: %s.", name, wanted, c.environments())
	}
	return nil
}

// bound takes away what the definition has beyond the ceiling.
func (c *delegated) bound() error {
	d := &c.definition
	granted := toCapabilities(d.Capabilities, *c.config.Settings.Capabilities).Within(c.ceiling.Capabilities)
	if c.wanted.Writes() && granted.Write == domain.Deny {
		return domain.Errorf(domain.CodePolicyDenied, "The agent profile %s does not write files.", c.wanted.Profile)
	}
	if err := c.chooseEnvironment(&granted); err != nil {
		return err
	}
	if !c.wanted.Writes() {
		granted.Write = domain.Deny
	}
	c.tools()
	d.McpServers = shared(d.McpServers, c.ceiling.MCPServers)
	d.Secrets = shared(d.Secrets, c.ceiling.Secrets)
	if d.Source.Type == domain.SourceACP || granted.Delegate == domain.Deny || c.parent.Depth()+1 >= domain.MaxDelegationDepth {
		d.Delegation = nil
	}
	if d.Delegation == nil {
		granted.Delegate = domain.Deny
	}
	d.Capabilities = namedCapabilities(granted)
	return nil
}

// chooseEnvironment chooses where the child works. One that only reads gets it read-only: a command may write wherever it is not kept from it, and on the host
// nothing keeps it.
func (c *delegated) chooseEnvironment(granted *domain.Capabilities) error {
	choice := api.Or(c.definition.Environment, domain.EnvironmentChoice{})
	choice.Name = c.environment(choice.Name)
	if wanted := c.wanted.Environment; wanted != "" && wanted != choice.Name {
		return domain.Errorf(domain.CodePolicyDenied, "The agent works in the environment %q; a call cannot choose another one for it.", choice.Name)
	}
	most := environmentNamed(c.ceiling, choice.Name)
	if most == nil {
		return domain.Errorf(domain.CodePolicyDenied, "The agent works in the environment %q, which the ceiling of %s does not have; it has: %s.",
			choice.Name, c.parent.AgentName(), c.environments())
	}
	choice = meetChoices(*most, choice)
	if !c.wanted.Writes() {
		defined, err := c.config.Environments.Defined(choice.Name)
		if err != nil {
			return err
		}
		isolated := defined.View != domain.ViewHost
		if !isolated && c.wanted.Capabilities[domain.ClassExecute].Exceeds(domain.Deny) {
			return domain.Errorf(domain.CodePolicyDenied, "Nothing keeps a command from writing in the environment %s: an agent that runs commands there has to be asked to write.", choice.Name)
		}
		if choice.ReadOnly = isolated; !isolated {
			granted.Execute = domain.Deny
		}
	}
	c.definition.Environment = &choice
	return nil
}

// environment is the name of the child's environment. Where the definition leaves it open, it is one of the ceiling: the default one for a profile, as in a
// request, and that of the parent for a source by itself.
func (c *delegated) environment(defined string) string {
	if c.definition.Source.Type == domain.SourceACP {
		defined = cmp.Or(defined, c.config.Agents.Environment(c.definition.Source.Command))
	}
	if defined != "" {
		return defined
	}
	candidates := []string{c.config.Environments.Default(), c.parent.Request.Environment.Name}
	if c.profile == nil {
		candidates = []string{c.wanted.Environment, c.parent.Request.Environment.Name}
	}
	for _, choice := range c.ceiling.Environments {
		candidates = append(candidates, choice.Name)
	}
	for _, name := range candidates {
		if name != "" && environmentNamed(c.ceiling, name) != nil {
			c.grants = append(slices.Clone(c.grants), string(keys.EnvironmentsUse)) // the ceiling gives it
			return name
		}
	}
	return candidates[0]
}

func (c *delegated) environments() string {
	var names []string
	for _, choice := range c.ceiling.Environments {
		names = append(names, choice.Name)
	}
	return orNone(names)
}

// tools narrows the tools of the definition to those of the ceiling. Those of MCP servers go with their servers.
func (c *delegated) tools() {
	d := &c.definition
	settings := api.Or(d.Tools, api.ToolSettings{})
	if d.Source.Type == domain.SourceInternal {
		settings.Enabled = meetTools(settings.Enabled, c.ceiling.Tools.Enabled)
	}
	servers := api.Or(d.McpServers, nil)
	left := api.Or(shared(d.McpServers, c.ceiling.MCPServers), nil)
	if settings.Enabled != nil {
		settings.Enabled = slices.DeleteFunc(slices.Clone(settings.Enabled), func(name string) bool {
			foreign := !slices.Contains(c.config.Tools.Names(), name) && c.config.Tools.Missing(name) == ""
			return foreign && !c.config.Tools.OfMCPServers(name, left) && (c.config.Tools.OfMCPServers(name, servers) || c.config.Tools.OfMCPServers(name, c.ceiling.MCPServers))
		})
	}
	d.Tools = &settings
}

// body is what the call asks for, as the body of a request.
func (c *delegated) body() api.CreateExecution {
	parent := c.parent.Request
	body := api.CreateExecution{
		Source: &api.Source{}, Prompt: &api.PromptInput{Text: c.wanted.Prompt}, KeepOpen: new(true), WorkingDirectory: &parent.WorkingDirectory,
		Metadata: parent.Metadata, RetentionDays: parent.RetentionDays, Budget: c.wanted.Budget, OutputSchema: c.wanted.OutputSchema,
	}
	if parent.RunbookID != "" {
		body.RunbookId = &parent.RunbookID
	}
	if c.wanted.Tools != nil {
		body.Tools = &api.ToolSettings{Enabled: c.wanted.Tools}
	}
	if len(c.wanted.Capabilities) > 0 {
		verdict := func(class domain.Class) *domain.Verdict {
			if named, is := c.wanted.Capabilities[class]; is {
				return &named
			}
			return nil
		}
		body.Capabilities = &api.Capabilities{
			Read: verdict(domain.ClassRead), Write: verdict(domain.ClassWrite), Execute: verdict(domain.ClassExecute), Network: verdict(domain.ClassNetwork),
			Mcp: verdict(domain.ClassMCP), Delegate: verdict(domain.ClassDelegate), Host: (*api.CapabilitiesHost)(verdict(domain.ClassHost)),
		}
	}
	return body
}

// finish sets what the definition and the call do not say.
func (c *delegated) finish(request *domain.Request) {
	request.SystemPrompt = api.Or(c.definition.SystemPrompt, "")
	request.SafeModeOff, request.Unattended = false, c.parent.Request.Unattended
	request.Requires = max(request.Requires, domain.RequiresDelegation)
	request.Budget = request.Budget.Within(c.budgetAbove())
	if request.Budget.Seconds > 0 {
		request.Requires = max(request.Requires, domain.RequiresBudgetSeconds)
	}
	if c.profile != nil {
		request.Profile = &domain.ProfileName{Name: c.profile.Name, Version: c.profile.Version, Digest: c.profile.Digest()}
		if request.Model != nil && c.definition.Source.Model != "" {
			request.Model.From = domain.ModelFromProfile
		}
	}
	if request.Delegation != nil {
		above := c.parent.Request.Delegation
		request.Delegation.Profiles = meetNames(request.Delegation.Profiles, above.Profiles)
		request.Delegation.Sources = request.Delegation.Sources && above.Sources
		request.Delegation.Ceiling = meetCeilings(request.Delegation.Ceiling, above.Ceiling)
	}
}

// budgetAbove bounds the child as well as its parent: otherwise an execution could have others make the calls that its own budget does not allow. The tokens
// and the cost of a root are not in it, because the tree shares them.
func (c *delegated) budgetAbove() domain.Budget {
	above := c.parent.Request.Budget
	if c.parent.Request.Parent == nil {
		above.Tokens, above.Cost = 0, 0
	}
	return above
}

// checkPrices refuses a model of unknown cost below an execution whose budget is of money.
func (c *delegated) checkPrices(request domain.Request) error {
	bounded := c.parent.Request.Budget.Cost > 0 || c.parent.SharedBudget().Cost > 0
	if request.Source.Type != domain.SourceInternal || !bounded {
		return nil
	}
	for _, model := range append([]string{request.Source.Model}, request.Source.Fallbacks...) {
		if !c.config.Models.Priced(model) {
			return domain.Errorf(domain.CodePolicyDenied, "There is a budget of money, and the cost of the model %s is unknown: its prices are not in the registry.", model)
		}
	}
	return nil
}

// inWords is an error for a model: it reads the message, and no pointers.
func inWords(err error) error {
	var coded *domain.Error
	if !errors.As(err, &coded) {
		return err
	}
	told := *coded
	told.Details = nil
	if told.Code == domain.CodeInvalid {
		told.Code = domain.CodeInvalidArguments
	}
	if len(coded.Details) > 1 {
		var parts []string
		for _, detail := range coded.Details {
			parts = append(parts, strings.TrimPrefix(detail.Pointer, "/")+" "+detail.Message)
		}
		told.Message = strings.Join(parts, "; ") + "."
	}
	return &told
}

func whomItMayAsk(d domain.Delegation) string {
	names := slices.Clone(d.Profiles)
	if d.Sources {
		names = append(names, "models and agents of the server by a source")
	}
	return orNone(names)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// namedCapabilities names every class, so that no default counts, and safe mode is on.
func namedCapabilities(c domain.Capabilities) *api.Capabilities {
	return &api.Capabilities{
		Read: &c.Read, Write: &c.Write, Execute: &c.Execute, Network: &c.Network, Mcp: &c.MCP, Delegate: &c.Delegate,
		Host: new(api.CapabilitiesHost(c.Host)), AlwaysAllowTools: new(false),
	}
}

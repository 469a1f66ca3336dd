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

// Child returns the request of the child for a call of its parent: an agent profile, or a model or an external agent without a profile, bounded by the
// parent's ceiling. A call that asks for more than the ceiling is refused; what a profile has beyond the ceiling is taken away. The model of the parent reads
// the errors. Earlier are the messages that [domain.ContextItems] adds.
func (a *Admission) Child(
	ctx context.Context, parent domain.Execution, callID string, wanted domain.DelegateArguments, earlier []domain.ContextMessage,
) (domain.Request, error) {
	if parent.Request.Delegation == nil {
		return domain.Request{}, domain.Errorf(domain.CodePolicyDenied, "%s may not delegate.", parent.AgentName())
	}
	c := childBuilder{Admission: a, parent: parent, wanted: wanted, ceiling: parent.Request.Delegation.Ceiling}
	request, err := c.request(ctx)
	if err == nil && wanted.Context == domain.ContextItems {
		request.Context, err = a.boundedContext(earlier)
		request.ContextFrom, request.ContextCalls = []domain.ExecutionID{parent.ID}, []domain.ExecutionID{parent.ID}
	}
	if err != nil {
		return domain.Request{}, errorForModel(err)
	}
	name := wanted.Profile
	if name == "" {
		name = request.Agent()
	}
	request.Parent = parent.ParentOf(callID, name, wanted.Writes())
	return request, nil
}

// childBuilder builds the request of a child.
type childBuilder struct {
	*Admission

	parent  domain.Execution
	wanted  domain.DelegateArguments
	ceiling domain.Ceiling // of the parent

	profile    *domain.AgentProfile // nil: a source without a profile
	definition api.AgentProfileDefinition
	grants     []string // scopes of the definition
}

func (c *childBuilder) request(ctx context.Context) (domain.Request, error) {
	if err := c.findAgent(ctx); err != nil {
		return domain.Request{}, err
	}
	if err := c.checkCall(); err != nil {
		return domain.Request{}, err
	}
	if err := c.applyCeiling(); err != nil {
		return domain.Request{}, err
	}
	body := c.body()
	narrowed, wrong := c.narrow(cmp.Or(c.wanted.Profile, "that is asked"), c.definition, body)
	if len(wrong) > 0 {
		return domain.Request{}, wrong.error()
	}
	request, err := c.assembleBeside(ctx, keys.Principal{Tenant: c.parent.Tenant}.With(c.grants), narrowed, &c.parent.Request)
	if err != nil && c.profile != nil {
		err = blameProfile(c.profile.Name, body, err)
	}
	if err != nil {
		return request, err
	}
	c.finish(&request)
	return request, c.checkPrices(request)
}

// findAgent finds the definition of the agent that the call names.
func (c *childBuilder) findAgent(ctx context.Context) error {
	delegation, wanted := c.parent.Request.Delegation, c.wanted
	switch {
	case (wanted.Profile == "") == (wanted.Source == nil):
		return domain.Errorf(domain.CodeInvalidArguments, "One of profile and source says which agent is asked.")
	case wanted.Source != nil && wanted.Source.Type != domain.SourceInternal && wanted.Source.Type != domain.SourceACP:
		return domain.Errorf(domain.CodeInvalidArguments, "A source has the type internal or acp.")
	case wanted.Source != nil && !delegation.Sources:
		return domain.Errorf(domain.CodePolicyDenied, "%s may ask agent profiles only: %s.", c.parent.AgentName(), orNone(delegation.Profiles))
	case wanted.Source != nil:
		c.definition, c.grants = c.sourceDefinition(), []string{string(keys.EnvironmentsUse)} // the ceiling names the environments
		return nil
	case delegation.Profiles != nil && !slices.Contains(delegation.Profiles, wanted.Profile):
		return domain.Errorf(domain.CodePolicyDenied, "%s may not ask the agent profile %q; it may ask: %s.", c.parent.AgentName(), wanted.Profile, askableAgents(*delegation))
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

// sourceDefinition is the definition of a source without a profile: it has the server's defaults, but for a class that the call names the verdict of the
// ceiling. It runs commands only if the call names that class.
func (c *childBuilder) sourceDefinition() api.AgentProfileDefinition {
	granted := withoutCommands(*c.config.Settings.Capabilities)
	for class := range c.wanted.Capabilities {
		granted = granted.With(map[domain.Class]domain.Verdict{class: c.ceiling.Capabilities.Of(class)})
	}
	return api.AgentProfileDefinition{Source: api.Source{Source: *c.wanted.Source}, Capabilities: namedCapabilities(granted)}
}

func withoutCommands(byDefault domain.Capabilities) domain.Capabilities {
	return byDefault.With(map[domain.Class]domain.Verdict{domain.ClassExecute: domain.Deny})
}

// checkCall refuses a call that asks for more than the ceiling.
func (c *childBuilder) checkCall() error {
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
		return domain.Errorf(domain.CodePolicyDenied, "The ceiling of %s does not have the environment %q; it has: %s.", name, wanted, c.ceilingEnvironments())
	}
	return nil
}

// applyCeiling narrows the definition to the ceiling.
func (c *childBuilder) applyCeiling() error {
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
	c.narrowTools()
	d.McpServers = narrowedList(d.McpServers, c.ceiling.MCPServers)
	d.Secrets = narrowedList(d.Secrets, c.ceiling.Secrets)
	if d.Source.Type == domain.SourceACP || granted.Delegate == domain.Deny || c.parent.Depth()+1 >= domain.MaxDelegationDepth {
		d.Delegation = nil
	}
	if d.Delegation == nil {
		granted.Delegate = domain.Deny
	}
	d.Capabilities = namedCapabilities(granted)
	return nil
}

// chooseEnvironment chooses the environment of the child. It is read-only for a child that only reads, because a command could write otherwise. On the host
// nothing keeps a command from writing, so such a child runs none there.
func (c *childBuilder) chooseEnvironment(granted *domain.Capabilities) error {
	choice := api.Or(c.definition.Environment, domain.EnvironmentChoice{})
	choice.Name = c.environmentName(choice.Name)
	if wanted := c.wanted.Environment; wanted != "" && wanted != choice.Name {
		return domain.Errorf(domain.CodePolicyDenied, "The agent works in the environment %q; a call cannot choose another one for it.", choice.Name)
	}
	most := environmentNamed(c.ceiling, choice.Name)
	if most == nil {
		return domain.Errorf(domain.CodePolicyDenied, "The agent works in the environment %q, which the ceiling of %s does not have; it has: %s.",
			choice.Name, c.parent.AgentName(), c.ceilingEnvironments())
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

// environmentName is the name of the child's environment. If the definition names none, it is one of the ceiling: for a profile preferably the default one, as
// in a request, and for a source without a profile the one of the call or of the parent.
func (c *childBuilder) environmentName(defined string) string {
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
			c.grants = append(slices.Clone(c.grants), string(keys.EnvironmentsUse)) // the ceiling grants it
			return name
		}
	}
	return candidates[0]
}

func (c *childBuilder) ceilingEnvironments() string {
	var names []string
	for _, choice := range c.ceiling.Environments {
		names = append(names, choice.Name)
	}
	return orNone(names)
}

// narrowTools narrows the tools of the definition to those of the ceiling. The tools of an MCP server are dropped together with the server.
func (c *childBuilder) narrowTools() {
	d := &c.definition
	settings := api.Or(d.Tools, api.ToolSettings{})
	if d.Source.Type == domain.SourceInternal {
		settings.Enabled = meetTools(settings.Enabled, c.ceiling.Tools.Enabled)
	}
	servers := api.Or(d.McpServers, nil)
	left := api.Or(narrowedList(d.McpServers, c.ceiling.MCPServers), nil)
	if settings.Enabled != nil {
		settings.Enabled = slices.DeleteFunc(slices.Clone(settings.Enabled), func(name string) bool {
			foreign := !slices.Contains(c.config.Tools.Names(), name) && c.config.Tools.Missing(name) == ""
			return foreign && !c.config.Tools.OfMCPServers(name, left) && (c.config.Tools.OfMCPServers(name, servers) || c.config.Tools.OfMCPServers(name, c.ceiling.MCPServers))
		})
	}
	d.Tools = &settings
}

// body is the call in the form of a request body.
func (c *childBuilder) body() api.CreateExecution {
	parent := c.parent.Request
	body := api.CreateExecution{
		Source: &api.Source{}, Prompt: &api.PromptInput{Text: c.wanted.Prompt}, KeepOpen: new(true), WorkingDirectory: &parent.WorkingDirectory,
		Metadata: parent.Metadata, RetentionDays: parent.RetentionDays, Checkpoints: orNoMode(parent.Checkpoints), Budget: c.wanted.Budget, OutputSchema: c.wanted.OutputSchema,
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

// finish sets the fields that neither the definition nor the call sets.
func (c *childBuilder) finish(request *domain.Request) {
	request.SystemPrompt = api.Or(c.definition.SystemPrompt, "")
	request.SafeModeOff, request.Unattended = false, c.parent.Request.Unattended
	request.Requires = max(request.Requires, domain.RequiresDelegation)
	request.Budget = request.Budget.Within(c.budgetOfParent())
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

// budgetOfParent bounds the child, too: otherwise an execution could delegate the calls that its own budget does not allow. The tokens and the cost of a root
// are left out, because the tree shares them.
func (c *childBuilder) budgetOfParent() domain.Budget {
	above := c.parent.Request.Budget
	if c.parent.Request.Parent == nil {
		above.Tokens, above.Cost = 0, 0
	}
	return above
}

// checkPrices refuses a model of unknown cost if the parent or the tree has a budget of cost.
func (c *childBuilder) checkPrices(request domain.Request) error {
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

// errorForModel puts the details of an error into its message: a model reads no pointers.
func errorForModel(err error) error {
	var coded *domain.Error
	if !errors.As(err, &coded) {
		return err
	}
	shown := *coded
	shown.Details = nil
	if shown.Code == domain.CodeInvalid {
		shown.Code = domain.CodeInvalidArguments
	}
	if len(coded.Details) > 1 {
		var parts []string
		for _, detail := range coded.Details {
			parts = append(parts, strings.TrimPrefix(detail.Pointer, "/")+" "+detail.Message)
		}
		shown.Message = strings.Join(parts, "; ") + "."
	}
	return &shown
}

func askableAgents(d domain.Delegation) string {
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

// namedCapabilities sets every class, so that no default applies, and safe mode.
func namedCapabilities(c domain.Capabilities) *api.Capabilities {
	return &api.Capabilities{
		Read: &c.Read, Write: &c.Write, Execute: &c.Execute, Network: &c.Network, Mcp: &c.MCP, Delegate: &c.Delegate,
		Host: new(api.CapabilitiesHost(c.Host)), AlwaysAllowTools: new(false),
	}
}

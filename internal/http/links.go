package http

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/webhooks"
)

// byLink is the channel of decisions on the page of a link, for the audit.
const byLink = "link"

// linkHandlers answer the routes of links, which decide an approval without a key.
type linkHandlers struct {
	reader    Reader
	approvals Approvals
	webhooks  Webhooks
	keys      Keys
	masker    Masker
}

type createLink struct {
	approvalPath
	Body *api.CreateApprovalLink
}

// create makes a link for a person without a key.
func (h linkHandlers) create(ctx context.Context, request createLink) (responder, error) {
	by := principalOf(ctx)
	approval, err := h.reader.Approval(ctx, by.Tenant, request.ID)
	if err != nil {
		return nil, err
	}
	if approval.Status != domain.ApprovalPending {
		return nil, attachApproval(approval, domain.Errorf(domain.CodeConflict, "The approval is %s.", approval.Status))
	}
	name := by.Actor.Name
	if request.Body != nil && request.Body.For != nil {
		name = h.masker.MaskString(*request.Body.For)
		if err := checkName("/for", name); err != nil {
			return nil, err
		}
	}
	url, expires := h.webhooks.Links().To(approval, name, by.Actor.KeyID, time.Now())
	return jsonResponse{status: http.StatusCreated, body: api.ApprovalLink{Url: url, ExpiresAt: api.Time(expires)}}, nil
}

// checkName refuses a name that could pass for another person's in the audit: one with line breaks, or with characters that reverse text or
// are invisible.
func checkName(pointer, name string) error {
	if strings.TrimSpace(name) == "" || strings.Contains(name, "\n") || domain.ShowUnseen(name) != name {
		return domain.Invalid(pointer, "This is a name in one line, of visible characters.")
	}
	return nil
}

type openLink struct {
	Token string `path:"token"`
}

// open returns the same page for every token and reads none: chat programs and mail scanners open links before people do, and would keep
// the command that they find there.
func (linkHandlers) open(context.Context, openLink) (responder, error) { return linkShell{}, nil }

type decideByLink struct {
	Token string `path:"token"`
	Body  api.DecideByLink
}

// decide shows the card of a link, or decides in the name of the person for whom the link was made. After the first decision a link
// only shows the outcome.
func (h linkHandlers) decide(ctx context.Context, request decideByLink) (responder, error) {
	isDecision := request.Body.Decision != api.DecideByLinkDecisionShow
	if isDecision && request.Body.ArgumentsHash == nil {
		return nil, domain.Invalid("/argumentsHash", "This is required: a decision is about the arguments that were shown.")
	}
	grant, approval, err := h.grant(ctx, request.Token)
	switch {
	case err != nil:
		return invalidLink(err)
	case approval.Status != domain.ApprovalPending && isDecision:
		return resolvedPage(lateStatus(approval), approval), nil
	case approval.Status != domain.ApprovalPending:
		return resolvedPage(http.StatusOK, approval), nil
	case !isDecision:
		return h.pendingPage(ctx, approval)
	}
	answer := toLinkAnswer(request.Body)
	answer.By = domain.Actor{KeyID: grant.Key, Name: "link for " + grant.For}
	answer.Reason = h.masker.MaskString(answer.Reason)
	decided, err := h.approvals.Decide(ctx, approval.Tenant, approval.ID, answer)
	switch {
	case err == nil:
		return resolvedPage(http.StatusOK, decided), nil
	case decided.ID == "" || answers[domain.CodeOf(err)].status >= http.StatusInternalServerError:
		return nil, err
	case decided.Status != domain.ApprovalPending:
		return resolvedPage(lateStatus(decided), decided), nil
	}
	again, failed := h.pendingPage(ctx, decided)
	again.Status, again.Message = http.StatusConflict, domain.FailureOf(err).Message
	if answers[domain.CodeOf(err)].status == http.StatusGone {
		again.Status, again.Buttons = http.StatusGone, nil
	}
	return again, failed
}

func toLinkAnswer(body api.DecideByLink) approvals.Answer {
	answer := approvals.Answer{ArgumentsHash: api.Or(body.ArgumentsHash, ""), Reason: api.Or(body.Reason, ""), Channel: byLink}
	switch body.Decision {
	case api.DecideByLinkDecisionApprove, api.DecideByLinkDecisionDeny:
		answer.Verb = domain.Verb(body.Decision)
	default:
		answer.Resolution = domain.Resolution(body.Decision)
	}
	return answer
}

// grant reads a token and its approval. A link ends with the key that made it, or with the webhook that it was sent to.
func (h linkHandlers) grant(ctx context.Context, token string) (webhooks.Grant, domain.Approval, error) {
	grant, err := h.webhooks.Links().Read(token, time.Now())
	if err != nil {
		return grant, domain.Approval{}, err
	}
	if grant.Webhook != "" {
		_, err = h.webhooks.Webhook(ctx, grant.Tenant, grant.Webhook)
	} else {
		err = h.keys.Check(ctx, grant.Key)
	}
	if err != nil {
		return grant, domain.Approval{}, err
	}
	approval, err := h.reader.Approval(ctx, grant.Tenant, grant.Approval)
	return grant, approval, err
}

// invalidLink returns one page for every invalid link, so that a forged link and an expired one look alike.
func invalidLink(err error) (page, error) {
	switch domain.CodeOf(err) {
	case domain.CodeNotFound, domain.CodeUnauthenticated:
		return page{Status: http.StatusNotFound, Title: "This link is not valid", Message: "It is incomplete or has expired. Ask the sender for another one."}, nil
	default:
		return page{}, err
	}
}

func lateStatus(approval domain.Approval) int {
	if approval.Decision == nil {
		return http.StatusGone
	}
	return http.StatusConflict
}

// resolvedPage shows how an approval ended, without the arguments, because a link may be kept for ever.
func resolvedPage(status int, approval domain.Approval) page {
	p := page{Status: status, Title: "This is " + string(approval.Status), Facts: []fact{
		{Name: "What", Text: domain.Reveal(approval.Call.Summary)}, {Name: "Tool", Text: domain.Reveal(approval.Call.Tool)},
	}}
	p.setEnvironment(approval)
	p.Warning, p.Lends = "", "" // nothing runs any more
	if d := approval.Decision; d != nil {
		p.setResolution(d.Resolution)
		p.Facts = append(p.Facts, fact{Name: "Decided by", Text: domain.Reveal(d.By.Name)})
		if d.Reason != "" {
			p.Facts = append(p.Facts, fact{Name: "Reason", Text: domain.Reveal(d.Reason)})
		}
	}
	if approval.Resolved != nil {
		p.Facts = append(p.Facts, fact{Name: "When", Text: formatTime(*approval.Resolved)})
	}
	return p
}

// setResolution names the answer about a call of unknown outcome. Every such answer is stored as approved, and a person who said that the
// call has failed must not read that it was approved.
func (p *page) setResolution(resolution domain.Resolution) {
	switch resolution {
	case domain.ResolutionSucceeded:
		p.Title = "The answer was: it has succeeded"
	case domain.ResolutionFailed:
		p.Title = "The answer was: it has failed"
	case domain.ResolutionRetry:
		p.Title = "The answer was: ask to run it again"
		p.Message = "This answer ran nothing. Whether the call may run again is a new question, with its own links."
	}
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// pendingPage shows all that a person needs to decide.
func (h linkHandlers) pendingPage(ctx context.Context, approval domain.Approval) (page, error) {
	execution, err := h.reader.Execution(ctx, approval.Tenant, approval.Execution)
	if err != nil {
		return invalidLink(err)
	}
	expires := "never"
	if approval.Expires != nil {
		expires = formatTime(*approval.Expires)
	}
	p := page{
		Status: http.StatusOK, Title: "A decision is needed", Hash: approval.ArgumentsHash, Facts: []fact{
			{Name: "What", Text: domain.Reveal(approval.Call.Summary)}, {Name: "Tool", Text: domain.Reveal(approval.Call.Tool)},
			{Name: "Arguments", Text: prettyJSON(approval.Call.Arguments), Code: true},
		},
	}
	p.addButtons(approval)
	reason := p.setEnvironment(approval)
	if reason != "" {
		p.Facts = append(p.Facts, fact{Name: "Why a person is asked", Text: domain.Reveal(reason)})
	}
	p.addTool(approval.MCP)
	if approval.Reversible != "" {
		p.Facts = append(p.Facts, fact{Name: "Can be taken back", Text: describeReversible(approval.Reversibility)})
	}
	if isolation := toIsolation(approval); isolation != nil {
		p.Facts = append(p.Facts, fact{Name: "Isolation", Text: describeIsolation(approval, isolation.Name)})
	}
	if len(approval.Path) > 0 {
		p.Facts = append(p.Facts, fact{Name: "Who was asked for what", Text: describePath(approval.Path), Code: true})
	}
	p.Facts = append(p.Facts,
		fact{Name: "Working directory", Text: domain.Reveal(approval.WorkingDirectory), Code: true},
		fact{Name: "Asked by", Text: describeAgent(execution)}, fact{Name: "Asked at", Text: formatTime(approval.Requested)},
		fact{Name: "Expires", Text: expires}, fact{Name: "Hash", Text: approval.ArgumentsHash},
	)
	return p, nil
}

// describePath has one line for each step, with the agent and the beginning of its prompt, the root first.
func describePath(path []domain.PathStep) string {
	lines := make([]string, len(path))
	for i, step := range path {
		lines[i] = domain.Reveal(step.Name) + ": " + domain.Reveal(step.Asked)
	}
	return strings.Join(lines, "\n")
}

// risks are the words of a chip.
var risks = map[domain.View]chip{
	domain.ViewWorkspace: {Says: "workspace only", Shows: "Isolated. It sees the working directory and the programs of the system."},
	domain.ViewMachine: {Says: "sees the machine",
		Shows: "Isolated. It sees or reaches more than the working directory: files or processes of the machine, private hosts, or lent credentials."},
	domain.ViewHost: {Says: "host, no isolation", Shows: "Runs on the host without isolation, and can do whatever its user can do."},
}

// setEnvironment shows the environment of a call, and returns the reason of the approval without the line about the host, which is the first of the page.
func (p *page) setEnvironment(approval domain.Approval) (reason string) {
	e := approval.Environment
	if e == nil {
		return approval.Reason
	}
	shown := risks[e.Risk]
	shown.Name, shown.Risk = domain.Reveal(e.Name), e.Risk
	p.Environment, p.Lends = &shown, domain.Reveal(strings.Join(e.Lends, ", "))
	if e.Risk != domain.ViewHost {
		return approval.Reason
	}
	first, rest, _ := strings.Cut(approval.Reason, "\n")
	if !strings.HasPrefix(first, "runs on ") {
		first, rest = "runs on the host, as "+cmp.Or(e.User, "the server's user")+", without isolation", approval.Reason
	}
	if own := "can approve its own calls"; e.AsServer && !strings.Contains(first, own) {
		first += ", " + own
	}
	p.Warning = "R" + domain.Reveal(first[1:])
	return rest
}

// describeReversible is how far a call can be taken back, in words.
func describeReversible(r domain.Reversibility) string {
	words := map[domain.Reversible]string{domain.ReversibleYes: "Yes.", domain.ReversiblePartly: "Partly.", domain.ReversibleNo: "No."}
	return strings.TrimSpace(words[r.Reversible] + " " + r.ReversibleReason)
}

func describeIsolation(approval domain.Approval, isolation string) string {
	switch {
	case approval.Environment != nil && approval.Environment.Risk == domain.ViewHost:
		return "None: its environment has no isolation."
	case isolation != domain.IsolationNone:
		return isolation
	case approval.Kind == domain.ApprovalAgentPermission:
		return "None: the agent runs it itself, with the files and the network of the server's user."
	default:
		return "None: the operator has switched the sandbox off."
	}
}

func describeAgent(execution domain.Execution) string {
	source := execution.Request.Source
	agent := []string{string(source.Type)}
	for _, part := range []string{source.Command, source.Model} {
		if part != "" {
			agent = append(agent, domain.Reveal(part))
		}
	}
	return "the agent (" + strings.Join(agent, ", ") + ") of execution " + string(execution.ID)
}

// addButtons adds the buttons for the kind of approval, and says where to give other answers.
func (p *page) addButtons(approval domain.Approval) {
	deny := button{string(domain.DenyCall), "Deny"}
	p.Buttons = []button{{string(domain.Approve), "Approve"}, deny}
	switch approval.Kind {
	case domain.ApprovalQuestion:
		p.Buttons = []button{deny}
		p.Facts = append(p.Facts, fact{Name: "Question", Text: prettyJSON(approval.Question), Code: true})
		p.Message = "POST /approvals/{id} answers the question; here you can only decline it."
	case domain.ApprovalAgentPermission:
		p.Facts = append(p.Facts, fact{Name: "Options of the agent", Text: prettyJSON(approval.Options), Code: true})
		p.Message = "Approve chooses the one option that allows this once. POST /approvals/{id} takes the other options."
	case domain.ApprovalUnknownOutcome:
		p.Buttons = []button{
			{string(domain.ResolutionSucceeded), "It has succeeded"}, {string(domain.ResolutionFailed), "It has failed"},
			{string(domain.ResolutionRetry), "Ask to run it again"},
		}
		p.Message = "The server stopped while this ran. Find out whether it succeeded, then answer."
	}
}

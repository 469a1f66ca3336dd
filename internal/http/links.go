package http

import (
	"context"
	"net/http"
	"strings"
	"time"

	"signoff/api"
	"signoff/internal/approvals"
	"signoff/internal/domain"
	"signoff/internal/webhooks"
)

// byLink is the channel of decisions that were made on the page of a link, for the audit.
const byLink = "link"

type createApprovalLink struct {
	named
	Body *api.CreateApprovalLink
}

// createApprovalLink makes a link for somebody without a key.
func (s *Server) createApprovalLink(ctx context.Context, request createApprovalLink) (responder, error) {
	id, err := domain.ParseApprovalID(request.ID)
	if err != nil {
		return nil, err
	}
	by := who(ctx)
	approval, err := s.reader.Approval(ctx, by.Tenant, id)
	if err != nil {
		return nil, err
	}
	if approval.Status != domain.ApprovalPending {
		return nil, overApproval(approval, domain.Errorf(domain.CodeConflict, "The approval is %s.", approval.Status))
	}
	whom := by.Actor.Name
	if request.Body != nil && request.Body.For != nil {
		whom = s.masker.MaskString(*request.Body.For)
		if err := legible("/for", whom); err != nil {
			return nil, err
		}
	}
	url, expires := s.webhooks.Links().To(approval, whom, by.Actor.KeyID, time.Now())
	return jsonResponse{status: http.StatusCreated, body: api.ApprovalLink{Url: url, ExpiresAt: api.Time(expires)}}, nil
}

// legible refuses a name that would not stand in the audit as it reads: one with a line of its own, or with characters that turn text
// round or show nothing, could pass for another person's.
func legible(pointer, name string) error {
	if strings.TrimSpace(name) == "" || strings.Contains(name, "\n") || domain.ShowUnseen(name) != name {
		return domain.Invalid(pointer, "This is a name in one line, of characters that can be seen.")
	}
	return nil
}

type showApprovalPage struct {
	Token string `path:"token"`
}

// showApprovalPage answers the same to everyone and looks at no token: chat programs and scanners of mails open links before people do,
// and would keep the command that they find there.
func (s *Server) showApprovalPage(context.Context, showApprovalPage) (responder, error) {
	return linkShell{}, nil
}

type decideByLink struct {
	Token string `path:"token"`
	Body  api.DecideByLink
}

// decideByLink shows the card of a link, or decides as whoever the link was made for. Behind the first decision a link shows, and decides no more.
func (s *Server) decideByLink(ctx context.Context, request decideByLink) (responder, error) {
	isDecision := request.Body.Decision != api.DecideByLinkDecisionShow
	if isDecision && request.Body.ArgumentsHash == nil {
		return nil, domain.Invalid("/argumentsHash", "This is required: a decision is about the arguments that were shown.")
	}
	grant, approval, err := s.linked(ctx, request.Token)
	switch {
	case err != nil:
		return pageOr(err)
	case approval.Status != domain.ApprovalPending && isDecision:
		return settledPage(lateStatus(approval), approval), nil
	case approval.Status != domain.ApprovalPending:
		return settledPage(http.StatusOK, approval), nil
	case !isDecision:
		return s.pendingPage(ctx, approval)
	}
	answer := linkAnswer(request.Body)
	answer.By = domain.Actor{KeyID: grant.Key, Name: "link for " + grant.For}
	answer.Reason = s.masker.MaskString(answer.Reason)
	decided, err := s.approvals.Decide(ctx, approval.Tenant, approval.ID, answer)
	switch {
	case err == nil:
		return settledPage(http.StatusOK, decided), nil
	case decided.ID == "" || answers[domain.CodeOf(err)].status >= http.StatusInternalServerError:
		return nil, err
	case decided.Status != domain.ApprovalPending:
		return settledPage(lateStatus(decided), decided), nil
	}
	again, failed := s.pendingPage(ctx, decided)
	again.Status, again.Message = http.StatusConflict, domain.FailureOf(err).Message
	if answers[domain.CodeOf(err)].status == http.StatusGone {
		again.Status, again.Buttons = http.StatusGone, nil
	}
	return again, failed
}

// linkAnswer reads a button.
func linkAnswer(body api.DecideByLink) approvals.Answer {
	answer := approvals.Answer{ArgumentsHash: api.Or(body.ArgumentsHash, ""), Reason: api.Or(body.Reason, ""), Channel: byLink}
	switch body.Decision {
	case api.DecideByLinkDecisionApprove, api.DecideByLinkDecisionDeny:
		answer.Verb = domain.Verb(body.Decision)
	default:
		answer.Resolution = domain.Resolution(body.Decision)
	}
	return answer
}

// linked finds what a token is about. A link ends with the key that asked for it, or with the webhook that it was sent to.
func (s *Server) linked(ctx context.Context, token string) (webhooks.Grant, domain.Approval, error) {
	grant, err := s.webhooks.Links().Read(token, time.Now())
	if err != nil {
		return grant, domain.Approval{}, err
	}
	if grant.Webhook != "" {
		_, err = s.webhooks.Webhook(ctx, grant.Tenant, grant.Webhook)
	} else {
		err = s.keys.Holds(ctx, grant.Key)
	}
	if err != nil {
		return grant, domain.Approval{}, err
	}
	approval, err := s.reader.Approval(ctx, grant.Tenant, grant.Approval)
	return grant, approval, err
}

// pageOr makes one page of all that a link can be refused for, so that nobody can tell a forged one from one that is over.
func pageOr(err error) (page, error) {
	switch domain.CodeOf(err) {
	case domain.CodeNotFound, domain.CodeUnauthenticated:
		return page{Status: http.StatusNotFound, Title: "This link does not hold", Message: "It is not complete, or its time is over. Ask whoever sent it for another one."}, nil
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

// settledPage tells how an approval ended, and nothing else that a link should show for ever.
func settledPage(status int, approval domain.Approval) page {
	p := page{Status: status, Title: "This is " + string(approval.Status), Facts: []fact{
		{Name: "What", Text: domain.Reveal(approval.Call.Summary)}, {Name: "Tool", Text: domain.Reveal(approval.Call.Tool)},
	}}
	if d := approval.Decision; d != nil {
		p.resolved(d.Resolution)
		p.Facts = append(p.Facts, fact{Name: "Decided by", Text: domain.Reveal(d.By.Name)})
		if d.Reason != "" {
			p.Facts = append(p.Facts, fact{Name: "Reason", Text: domain.Reveal(d.Reason)})
		}
	}
	if approval.Resolved != nil {
		p.Facts = append(p.Facts, fact{Name: "When", Text: moment(*approval.Resolved)})
	}
	return p
}

// resolved names what was said of a call of unknown outcome. Such an approval is approved by whatever answer, and somebody who said that
// the call has failed must not read that it was approved.
func (p *page) resolved(resolution domain.Resolution) {
	switch resolution {
	case domain.ResolutionSucceeded:
		p.Title = "The answer was: it has succeeded"
	case domain.ResolutionFailed:
		p.Title = "The answer was: it has failed"
	case domain.ResolutionRetry:
		p.Title = "The answer was: ask to run it again"
		p.Message = "Nothing ran by this answer. Whether it may run again is a new question, with links of its own."
	}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// pendingPage shows all that a person needs to decide, letter by letter.
func (s *Server) pendingPage(ctx context.Context, approval domain.Approval) (page, error) {
	execution, err := s.reader.Execution(ctx, approval.Tenant, approval.Execution)
	if err != nil {
		return pageOr(err)
	}
	expires := "never"
	if approval.Expires != nil {
		expires = moment(*approval.Expires)
	}
	p := page{
		Status: http.StatusOK, Title: "Somebody has to decide", Hash: approval.ArgumentsHash, Facts: []fact{
			{Name: "What", Text: domain.Reveal(approval.Call.Summary)}, {Name: "Tool", Text: domain.Reveal(approval.Call.Tool)},
			{Name: "Arguments", Text: readable(approval.Call.Arguments), Code: true},
		},
	}
	p.options(approval)
	if approval.Reason != "" {
		p.Facts = append(p.Facts, fact{Name: "Why somebody is asked", Text: domain.Reveal(approval.Reason)})
	}
	if isolation := toIsolation(approval); isolation != nil {
		p.Facts = append(p.Facts, fact{Name: "What confines it", Text: confinement(approval.Kind, isolation.Name)})
	}
	p.Facts = append(p.Facts,
		fact{Name: "Working directory", Text: domain.Reveal(approval.WorkingDirectory), Code: true},
		fact{Name: "Asked by", Text: asker(execution)}, fact{Name: "Asked at", Text: moment(approval.Requested)},
		fact{Name: "Expires", Text: expires}, fact{Name: "Hash", Text: approval.ArgumentsHash},
	)
	return p, nil
}

// confinement is what confines a call, in words.
func confinement(kind domain.ApprovalKind, isolation string) string {
	switch {
	case isolation != domain.IsolationNone:
		return isolation
	case kind == domain.ApprovalAgentPermission:
		return "Nothing: the agent runs it itself, with the files and the network of the server's user."
	default:
		return "Nothing: the operator has switched the sandbox off."
	}
}

func asker(execution domain.Execution) string {
	source := execution.Request.Source
	agent := []string{string(source.Type)}
	for _, part := range []string{source.Command, source.Model} {
		if part != "" {
			agent = append(agent, domain.Reveal(part))
		}
	}
	return "the agent (" + strings.Join(agent, ", ") + ") of execution " + string(execution.ID)
}

// options puts the buttons that the kind of approval has, and says where the rest is answered.
func (p *page) options(approval domain.Approval) {
	const elsewhere = "More than these buttons can say is answered by POST /approvals/{id}."
	deny := button{string(domain.DenyCall), "Deny"}
	p.Buttons = []button{{string(domain.Approve), "Approve"}, deny}
	switch approval.Kind {
	case domain.ApprovalQuestion:
		p.Buttons = []button{deny}
		p.Facts = append(p.Facts, fact{Name: "Question", Text: readable(approval.Question), Code: true})
		p.Message = "An answer is given by POST /approvals/{id}; here the question can be declined."
	case domain.ApprovalAgentPermission:
		p.Facts = append(p.Facts, fact{Name: "Options of the agent", Text: readable(approval.Options), Code: true})
		p.Message = "Approve takes the one option that allows this once. " + elsewhere
	case domain.ApprovalUnknownOutcome:
		p.Buttons = []button{
			{string(domain.ResolutionSucceeded), "It has succeeded"}, {string(domain.ResolutionFailed), "It has failed"},
			{string(domain.ResolutionRetry), "Ask to run it again"},
		}
		p.Message = "The server stopped while this ran. Look what became of it, then say so."
	}
}

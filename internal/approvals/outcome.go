package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"signoff/internal/domain"
)

// Calls that were running when their server stopped. Whether such a call has done its work can only be found out by looking, so
// a person is asked, and says what they found, or that it may be tried again.

// AskOutcome returns an approval that asks for the outcome of a call, which started at since and was running when its server
// stopped. No rule answers it, and the answer is not remembered.
func AskOutcome(execution domain.Execution, call domain.ToolCall, hash string, since time.Time, timeout time.Duration, now time.Time) domain.Approval {
	return New(execution, domain.Question{Kind: domain.ApprovalUnknownOutcome, Call: call}, hash,
		Judgement{Verdict: domain.Ask, By: ByServer, Reason: outcomeQuestion(since)}, timeout, now)
}

// outcomeQuestion explains the situation and each answer to a person.
func outcomeQuestion(since time.Time) string {
	return fmt.Sprintf("The server stopped while this call was running. It started at %s, and may have done nothing, a part or all of its work. "+
		"Look first, then answer with a resolution. succeeded: it has done its work; the agent learns that and goes on. "+
		"failed: it has not; the agent learns that and goes on. "+
		"retry: nothing runs yet; you are asked to approve the call once more, and may edit it. "+
		"Until somebody answers, nothing runs.", since.UTC().Format(time.RFC3339))
}

// OutcomeUnknown is the failure that the model gets for a lost call that nobody has looked into.
func OutcomeUnknown() domain.Failure {
	return domain.Failure{
		Code: domain.CodeOutcomeUnknown,
		Message: "The server stopped while this call was running, so it may have run, in part or in full. " +
			"It is not run again by itself: find out what has happened before you repeat it.",
	}
}

const lookedInto = "The server stopped while this call was running, so its output is lost. A person has looked into it: "

// ReportedOutcome is the failure that the model gets for a lost call after a person has reported its outcome, with their words.
func ReportedOutcome(approval domain.Approval) domain.Failure {
	unknown := OutcomeUnknown()
	if approval.Decision == nil {
		return unknown
	}
	switch approval.Decision.Resolution {
	case domain.ResolutionSucceeded:
		unknown.Message = lookedInto + "it has succeeded, and need not be repeated."
	case domain.ResolutionFailed:
		unknown.Message = lookedInto + "it has failed."
	}
	if reason := approval.Decision.Reason; reason != "" {
		unknown.Message += " They said: " + reason
	}
	return unknown
}

// NotRepeated is the failure that the model gets for a lost call that a person wanted to repeat and that did not run, because of why.
func NotRepeated(why domain.Failure) domain.Failure {
	if why.Code == domain.CodeOutcomeUnknown {
		return why
	}
	unknown := OutcomeUnknown()
	unknown.Message += " It was to be tried again, and was not: " + why.Message
	return unknown
}

// Repeated turns the policy's judgement of a repeated call into a question: an approval of the first run does not cover a second
// one. A denial stays a denial.
func Repeated(judgement Judgement, request domain.Decision) Judgement {
	if judgement.Verdict == domain.Deny {
		return judgement
	}
	reason := fmt.Sprintf("This call may have run already: the server stopped while it did. %s wants it tried again", cmp.Or(request.By.Name, "Somebody"))
	if request.Reason != "" {
		reason += ": " + request.Reason
	}
	if judgement.Verdict == domain.Ask {
		return Judgement{Verdict: domain.Ask, By: judgement.By, RuleID: judgement.RuleID, Reason: sentence(reason) + " " + judgement.Reason, Options: judgement.Options, Notice: judgement.Notice, MCP: judgement.MCP}
	}
	return Judgement{Verdict: domain.Ask, By: ByServer, Reason: sentence(reason), Options: judgement.Options, Notice: judgement.Notice, MCP: judgement.MCP}
}

func sentence(text string) string {
	if last := text[len(text)-1]; last == '.' || last == '!' || last == '?' {
		return text
	}
	return text + "."
}

var resolutions = []domain.Resolution{domain.ResolutionSucceeded, domain.ResolutionFailed, domain.ResolutionRetry}

// interpret completes an answer for its kind of approval. For a lost call, a plain deny means that it has failed: a button without
// a form can say no more.
func interpret(kind domain.ApprovalKind, answer Answer) (Answer, error) {
	if kind != domain.ApprovalUnknownOutcome {
		switch {
		case answer.Resolution != "":
			return answer, domain.Invalid("/resolution", "Only a call whose outcome is unknown has a resolution.")
		case answer.Verb == "":
			return answer, domain.Invalid("/decision", "Say approve or deny.")
		}
		return answer, nil
	}
	denied := answer.Verb == domain.DenyCall
	switch {
	case answer.Resolution == "" && denied:
		answer.Resolution = domain.ResolutionFailed
	case answer.Resolution == "":
		return answer, domain.Invalid("/resolution", "Say what became of the call: succeeded, failed or retry.")
	case !slices.Contains(resolutions, answer.Resolution):
		return answer, domain.Invalid("/resolution", "It is succeeded, failed or retry.")
	case denied && answer.Resolution != domain.ResolutionFailed:
		return answer, domain.Invalid("/decision", "To deny means that the call has failed, and the resolution says %s.", answer.Resolution)
	}
	answer.Verb = cmp.Or(answer.Verb, domain.Approve)
	return answer, nil
}

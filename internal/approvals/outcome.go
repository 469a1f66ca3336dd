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

// AskOutcome returns the question what became of call, which was running since then when its server stopped. No rule answers it, and
// none is left behind.
func AskOutcome(execution domain.Execution, call domain.ToolCall, hash string, since time.Time, timeout time.Duration, now time.Time) domain.Approval {
	return New(execution, domain.Question{Kind: domain.ApprovalUnknownOutcome, Call: call}, hash,
		Judgement{Verdict: domain.Ask, By: ByServer, Reason: outcomeQuestion(since)}, timeout, now)
}

// outcomeQuestion is what a person reads who is woken by the question: what is the matter, since when, and what each answer does.
func outcomeQuestion(since time.Time) string {
	return fmt.Sprintf("The server stopped while this call was running. It had started at %s, and may have done nothing, a part or all of its work. "+
		"Look first, then answer with a resolution. succeeded: it has done its work; the agent is told so and goes on. "+
		"failed: it has not; the agent is told so and goes on. "+
		"retry: nothing runs yet; you are asked to approve the call once more, and may edit it. "+
		"Until somebody answers, nothing runs.", since.UTC().Format(time.RFC3339))
}

// OutcomeUnknown is what the model is told of a lost call where nobody has looked.
func OutcomeUnknown() domain.Failure {
	return domain.Failure{
		Code: domain.CodeOutcomeUnknown,
		Message: "The server stopped while this call was running, so it may have run, in part or in full. " +
			"It is not run again by itself: find out what has happened before you repeat it.",
	}
}

const lookedInto = "The server stopped while this call was running, so its output is lost. A person has looked into it: "

// ReportedOutcome is what the model is told of a lost call, as somebody has found out. They do not see what the model sees, so it is
// given their words.
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

// NotRepeated is what the model is told of a lost call that was to be tried again and was not, because of why.
func NotRepeated(why domain.Failure) domain.Failure {
	if why.Code == domain.CodeOutcomeUnknown {
		return why
	}
	unknown := OutcomeUnknown()
	unknown.Message += " It was to be tried again, and was not: " + why.Message
	return unknown
}

// Repeated turns what the policy says of a lost call that is to run again into a question: whoever allowed the first run has not
// allowed a second one. What the policy refuses stays refused.
func Repeated(judgement Judgement, wish domain.Decision) Judgement {
	if judgement.Verdict == domain.Deny {
		return judgement
	}
	reason := fmt.Sprintf("This call may have run already: the server stopped while it did. %s wants it tried again", cmp.Or(wish.By.Name, "Somebody"))
	if wish.Reason != "" {
		reason += ": " + wish.Reason
	}
	if judgement.Verdict == domain.Ask {
		return Judgement{Verdict: domain.Ask, By: judgement.By, RuleID: judgement.RuleID, Reason: sentence(reason) + " " + judgement.Reason, Options: judgement.Options}
	}
	return Judgement{Verdict: domain.Ask, By: ByServer, Reason: sentence(reason), Options: judgement.Options}
}

func sentence(text string) string {
	if last := text[len(text)-1]; last == '.' || last == '!' || last == '?' {
		return text
	}
	return text + "."
}

var resolutions = []domain.Resolution{domain.ResolutionSucceeded, domain.ResolutionFailed, domain.ResolutionRetry}

// interpret reads what an answer says to a kind of question. To a lost call, a plain no says that it has failed: that is all that a
// button without a form can say.
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

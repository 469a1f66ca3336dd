package approvals

import (
	"encoding/json"
	"net/url"

	"signoff/internal/domain"
	"signoff/internal/schema"
)

// form is the content of a question.
type form struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema"` // nil: it asks for nothing but a yes
	URL     string          `json:"url"`    // of a page that the person is to open; empty: there is none
	Host    string          `json:"host"`   // of the page: what a person sees before they open it
}

// CheckForm refuses the form of an MCP server that nobody can be shown as it should be.
func CheckForm(question json.RawMessage) error {
	var f form
	if err := json.Unmarshal(question, &f); err != nil {
		return domain.Errorf(domain.CodeInvalid, "The form of the question is no object with a message.").With(err)
	}
	if f.URL == "" {
		return nil
	}
	page, err := url.Parse(f.URL)
	if err != nil || page.Scheme != "https" && page.Scheme != "http" || page.Hostname() == "" {
		return domain.Errorf(domain.CodeInvalid, "The question asks to open a page whose address is no http or https URL.")
	}
	if f.Host != page.Host && f.Host != page.Hostname() || page.User != nil { // a name before the @ would look like the host
		return domain.Errorf(domain.CodeInvalid, "The question does not show the host of the page that it asks to open.")
	}
	return nil
}

// JudgeInquiry says whether a question of an MCP server may be asked.
func JudgeInquiry(request domain.Request) Judgement {
	judgement := JudgeQuestion(request)
	if judgement.Verdict == domain.Ask {
		judgement.Reason = "The MCP server asks this before it answers the call."
	}
	return judgement
}

// InquiryAnswer is what an MCP server gets for its question.
func InquiryAnswer(approval domain.Approval) domain.Answer {
	answer := domain.Answer{Status: approval.Status}
	switch approval.Status {
	case domain.ApprovalApproved:
		answer.Content = approval.Decision.Answer
	case domain.ApprovalDenied:
		answer.Message = "A person declined to answer the question of the MCP server."
		if reason := approval.Decision.Reason; reason != "" {
			answer.Message = "A person declined to answer the question of the MCP server and said: " + reason
		}
	default:
		_, failure := Unanswered(approval)
		answer.Message = failure.Message
	}
	return answer
}

// Unanswered is the outcome, and the failure that the model gets, of a call whose MCP server has asked a question that nobody has answered.
func Unanswered(approval domain.Approval) (domain.Outcome, domain.Failure) {
	const half = " The server may have done a part of the work before it asked."
	if approval.Status == domain.ApprovalExpired {
		return domain.OutcomeExpired, domain.Failure{
			Code:    domain.CodeApprovalExpired,
			Message: "Nobody answered the question of the MCP server in time, so it got no answer. This is not a refusal by a person." + half,
		}
	}
	return domain.OutcomeCancelled, domain.Failure{
		Code: domain.CodeCancelled, Message: "The question of the MCP server was withdrawn before anybody answered it." + half,
	}
}

// fits checks an answer against the schema that the question came with. An agent that sends a schema which is none
// gets an answer all the same: it is one object, and what to make of it is the agent's own trouble.
func fits(question, answer json.RawMessage) error {
	var f form
	readable := json.Unmarshal(question, &f) == nil
	page := readable && f.URL != "" && f.Schema == nil
	switch {
	case answer == nil && page:
		return nil
	case answer == nil:
		return domain.Invalid("/answer", "A question that is approved needs an answer.")
	}
	if !json.Valid(answer) {
		return domain.Invalid("/answer", "The answer is not JSON.")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(answer, &object); err != nil || object == nil {
		return domain.Invalid("/answer", "An answer is an object with the fields of the form.")
	}
	if page && len(object) > 0 {
		return domain.Invalid("/answer", "The question asks to open a page, and its answer has no fields.")
	}
	if !readable || f.Schema == nil {
		return nil
	}
	wanted, err := schema.Compile(f.Schema)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	return misfit(wanted.Check(answer))
}

// misfit names the fields that are wrong.
func misfit(details []domain.Detail) error {
	if len(details) == 0 {
		return nil
	}
	problem := &domain.Error{Code: domain.CodeInvalid, Message: "The answer does not fit the form of the question."}
	for _, detail := range details {
		problem.Details = append(problem.Details, domain.Detail{Pointer: "/answer" + detail.Pointer, Message: detail.Message})
	}
	return problem
}

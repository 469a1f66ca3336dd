package sessions

import (
	"encoding/json"
	"errors"
	"time"

	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/store"
)

// Why a turn is stopped: the causes that its agent gets.
var (
	errCancelled = errors.New("sessions: the execution was cancelled")
	errTimedOut  = errors.New("sessions: the turn's time is over")
	errSpent     = errors.New("sessions: the budget is used up")
	errDrain     = errors.New("sessions: the server shuts down")

	errSuperseded = errors.New("sessions: another prompt takes the place of this turn")
)

// outcome is how an execution ends.
type outcome struct {
	status  domain.Status
	finish  domain.FinishReason
	stop    domain.StopReason // of the turn; empty if the agent gave none
	failure *domain.Failure
	cancel  *store.CancelRequest

	structured json.RawMessage // the last answer as the value that the request asked for
}

// stopped is the outcome of a turn that the agent ended. A limit is a failure that keeps the text: the agent has not done what the
// client asked for.
func stopped(stop domain.StopReason) outcome {
	fail := func(finish domain.FinishReason, code domain.Code, message string) outcome {
		return outcome{status: domain.StatusFailed, finish: finish, stop: stop, failure: &domain.Failure{Code: code, Message: message}}
	}
	switch stop {
	case domain.StopEndTurn:
		return outcome{status: domain.StatusCompleted, finish: domain.FinishEndTurn, stop: stop}
	case domain.StopMaxTokens:
		return fail(domain.FinishMaxTokens, domain.CodeLimitReached, "The model reached its limit of output tokens.")
	case domain.StopMaxIterations:
		return fail(domain.FinishMaxIterations, domain.CodeLimitReached, "The agent used up maxIterations.")
	case domain.StopRefusal:
		return fail(domain.FinishRefusal, domain.CodeRefused, "The model declined to go on.")
	default: // the agent says cancelled, and nobody has cancelled
		return fail(domain.FinishError, domain.CodeAgentFailed, "The agent stopped without finishing.")
	}
}

// because is the same end with the agent's own words for it.
func (end outcome) because(failure domain.Failure) outcome {
	end.failure = &failure
	return end
}

func failed(failure domain.Failure) outcome {
	return outcome{status: domain.StatusFailed, finish: domain.FinishError, failure: &failure}
}

func timedOut(seconds int) outcome {
	failure := domain.Errorf(domain.CodeTimedOut, "The turn was active for longer than its timeoutSeconds of %d.", seconds)
	return outcome{
		status: domain.StatusTimedOut, finish: domain.FinishTimeout,
		failure: &domain.Failure{Code: failure.Code, Message: failure.Message},
	}
}

// misfit is the end of an execution whose last answer does not fit.
func misfit(stop domain.StopReason) outcome {
	end := failed(domain.Failure{Code: domain.CodeOutputInvalid, Message: "The final answer does not fit the outputSchema."})
	end.stop = stop
	return end
}

// record is the audit record of the end.
func (end outcome) record(execution *domain.Execution) domain.AuditRecord {
	record := domain.AuditRecord{
		Action: "execution.ended", Subject: string(execution.ID), Channel: audit.BySession, Outcome: string(end.status), Reason: string(end.finish),
	}.Of(*execution)
	if end.failure != nil {
		record.Summary = end.failure.Message
	}
	if end.cancel != nil {
		record.Actor = &end.cancel.By
	}
	return record
}

// output is the result of the execution, with the calls that end with it.
func (r *recorder) output(end outcome) domain.Output {
	success := end.status == domain.StatusCompleted
	text, cut := r.progress.Said.Last(success)
	return domain.Output{
		Text: text, Truncated: cut, Success: success, FinishReason: end.finish,
		DurationSeconds: domain.Seconds(time.Since(r.execution.Created)), Error: end.failure, TokenUsage: r.progress.Usage,
		Structured: end.structured, ToolCallsExecuted: append([]domain.ExecutedToolCall{}, r.progress.Executed...), // an empty list, never null
	}
}

// interruption is the reason why an execution is interrupted.
type interruption struct {
	cause  domain.InterruptCause
	reason string      // for people
	code   domain.Code // of the failure behind it; empty where there was none
}

// processGone is the interruption of an external agent whose process has ended.
func processGone(reason string) interruption {
	return interruption{cause: domain.CauseProcessGone, reason: reason}
}

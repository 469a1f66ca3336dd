package sessions_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"signoff/internal/approvals"
	"signoff/internal/dispatch"
	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
	"signoff/internal/store/storetest"
)

// slowJudge judges nothing before it is released, and does not even hear that nobody waits for it any more.
type slowJudge struct {
	asked chan struct{} // closes with the first call
	goOn  chan struct{}
	once  sync.Once
}

func newSlowJudge(t *testing.T) *slowJudge {
	t.Helper()
	j := &slowJudge{asked: make(chan struct{}), goOn: make(chan struct{})}
	t.Cleanup(j.release)
	return j
}

func (j *slowJudge) release() {
	select {
	case <-j.goOn:
	default:
		close(j.goOn)
	}
}

func (j *slowJudge) wire(c *dispatch.Config) {
	c.Judge = func(p approvals.Policy, ctx context.Context, call domain.ToolCall, hash string, now time.Time) approvals.Judgement {
		j.once.Do(func() { close(j.asked) })
		<-j.goOn
		return p.Judge(ctx, call, hash, now)
	}
}

// TestNobodyWaitsForAJudge: a call that takes for ever to judge holds up neither a cancellation nor a time-out, a deletion or
// the end of the server.
func TestNobodyWaitsForAJudge(t *testing.T) {
	for name, end := range map[string]func(*world, domain.ExecutionID){
		"cancel": func(w *world, id domain.ExecutionID) {
			if _, err := w.manager.Cancel(context.Background(), tenant, id, "enough", alice); err != nil {
				w.t.Error(err)
			}
			if got := w.ended(id).Status; got != domain.StatusCancelled {
				w.t.Errorf("it is %s", got)
			}
		},
		"time out": func(w *world, id domain.ExecutionID) {
			if got := w.ended(id).Status; got != domain.StatusTimedOut {
				w.t.Errorf("it is %s", got)
			}
		},
		"delete": func(w *world, id domain.ExecutionID) {
			if err := w.manager.Delete(context.Background(), tenant, id, alice); err != nil {
				w.t.Error(err)
			}
		},
		"drain": func(w *world, id domain.ExecutionID) {
			w.drain()
			if status := w.execution(id).Status; status.Terminal() {
				w.t.Errorf("it is %s, and the next server should go on with it", status)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
				judge := newSlowJudge(t)
				w := newWorld(t, s, uses("ls"), judge.wire)
				id := w.start(func(r *domain.Request) {
					if name == "time out" {
						r.TimeoutSeconds = 1
					}
				})
				<-judge.asked
				end(w, id)
				judge.release()
			})
		})
	}
}

// TestWhatTakesAWhileIsJudgedAllTheSame: the session goes on with other things meanwhile, and then with the call, by the rules
// that hold then.
func TestWhatTakesAWhileIsJudgedAllTheSame(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		judge := newSlowJudge(t)
		w := newWorld(t, s, uses("ls", "date"), judge.wire)
		id := w.start()
		<-judge.asked
		w.until(id, domain.ToolCallRequestedType)
		rule := domain.PermissionRule{
			Tenant: tenant, Scope: domain.RememberGlobal, Effect: domain.Deny, By: alice, Matcher: domain.Matcher{Command: "date"},
		}
		if _, _, err := w.service.CreateRule(context.Background(), rule, "", "test"); err != nil {
			t.Fatal(err)
		}
		judge.release()
		var open []domain.Approval // date may have been judged by the rules of a moment ago, and the rule answers it then
		w.follow(id, func(events.Frame) bool {
			open, _ = s.ApprovalsOf(context.Background(), id)
			return slices.ContainsFunc(open, func(a domain.Approval) bool { return a.Call.Summary == "Run ls" })
		})
		w.decide(approvalFor(t, open, "ls"))
		w.ended(id)
		got := outcomes(t, w.events(id))
		if got["ls"] != domain.OutcomeSucceeded || got["date"] != domain.OutcomeDenied {
			t.Errorf("the outcomes are %v", got)
		}
	})
}

// TestACallThatTookAWhileToJudgeChangesTheStatus: when it starts, the execution is executing a tool, also where nothing else happens that
// would tell.
func TestACallThatTookAWhileToJudgeChangesTheStatus(t *testing.T) {
	judge := newSlowJudge(t)
	w := newWorld(t, storetest.SQLite(t), inserts, judge.wire)
	id := w.start(trusting)
	<-judge.asked
	w.until(id, domain.ToolCallRequestedType)
	time.AfterFunc(200*time.Millisecond, judge.release) // later than a session waits for a judgement
	w.becomes(id, domain.StatusExecutingTool, 1)
	w.answers(id, "c1", "inserted")
	w.ended(id)
}

// overtakenRules does something right after the rules of an execution were read for the first time.
type overtakenRules struct {
	database
	once sync.Once
	then func()
}

func (o *overtakenRules) Rules(ctx context.Context, of domain.TenantID, id domain.ExecutionID) ([]domain.PermissionRule, error) {
	rules, err := o.database.Rules(ctx, of, id)
	o.once.Do(o.then)
	return rules, err
}

// TestARuleThatIsMadeWhileAQuestionIsWritten answers the question: whoever made the rule did not find the question, and the session had not read the rule.
func TestARuleThatIsMadeWhileAQuestionIsWritten(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, s *store.Store) {
		overtaken := &overtakenRules{database: s}
		w := newWorldThrough(t, overtaken, s, uses("date"))
		overtaken.then = func() {
			rule := domain.PermissionRule{
				Tenant: tenant, Scope: domain.RememberGlobal, Effect: domain.Deny, By: alice, Matcher: domain.Matcher{Command: "date"},
			}
			if _, _, err := w.service.CreateRule(context.Background(), rule, "", "test"); err != nil {
				t.Error(err)
			}
		}
		id := w.start()
		w.ended(id)
		if got := outcomes(t, w.events(id)); got["date"] != domain.OutcomeDenied {
			t.Errorf("the outcomes are %v", got)
		}
	})
}

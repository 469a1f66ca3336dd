package checkpoints

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"

	"signoff/internal/domain"
	"signoff/internal/workspace/checkpoint"
)

// Service opens the keepers of one server, and reads checkpoints.
type Service struct {
	store       *checkpoint.Store
	unavailable string
	hidden      []string
	host        string
	secret      func(path string, content []byte) bool
	place       func(folder, path string) (*os.Root, string, error)
	activity    *activity
	keepers     sync.Map // the keepers of sessions, by execution
}

// Config is the configuration of a service.
type Config struct {
	Store       *checkpoint.Store // nil: there are no checkpoints
	Unavailable string            // why there is no store, for people
	Hidden      []string          // absolute paths that no execution sees
	Host        string            // the name of this machine
	Observe     Observe           // nil: the service cannot see programs outside this server write

	// Place opens the folder of a path that a rollback may change, see [checkpoint.Places].
	Place func(folder, path string) (*os.Root, string, error)
	// Secret reports whether a file may hold secrets, so that a diff does not show its content; nil: no file does.
	Secret func(path string, content []byte) bool
}

// New returns a service.
func New(config Config) *Service {
	s := &Service{
		store: config.Store, unavailable: config.Unavailable, hidden: config.Hidden, host: config.Host, secret: config.Secret, place: config.Place,
		activity: &activity{observe: config.Observe},
	}
	if s.secret == nil {
		s.secret = func(string, []byte) bool { return false }
	}
	return s
}

// Unavailable returns why this server takes no checkpoints; empty: it takes them.
func (s *Service) Unavailable() string {
	if s.store == nil {
		return s.unavailable
	}
	return ""
}

// Keep returns the keeper of an execution that a session drives.
func (s *Service) Keep(execution Execution, report Report) *Keeper {
	k := s.keeper(execution, report)
	s.keepers.Store(execution.ID, k)
	return k
}

// Preview plans a rollback of an execution from the present state of its folders. The keeper of its session does it, for it knows which changes are the
// execution's. If no session drives the execution, for instance after its end, a temporary keeper does it.
func (s *Service) Preview(ctx context.Context, of domain.ExecutionID, history History, live bool, target Rollback) (domain.RollbackPlan, error) {
	if known, is := s.keepers.Load(of); is {
		plan, err := known.(*Keeper).Preview(ctx, target)
		return plan, s.located(ctx, err, target.To, history[len(history)-1])
	}
	k, err := s.temporaryKeeper(of, history, live, func(context.Context, domain.CheckpointCreated) error { return nil })
	if err != nil {
		return domain.RollbackPlan{}, err
	}
	defer k.Close()
	plan, err := k.Preview(ctx, target)
	return plan, s.located(ctx, err, target.To, history[len(history)-1])
}

// Finish does the rollback of an execution that has ended, or finishes the rollback of a journal. The log of the execution is complete by then, so the
// result holds the checkpoints of the rollback.
func (s *Service) Finish(
	ctx context.Context, rollback domain.Rollback, history History, target Rollback, journal *Journal, begin func(context.Context, Journal) error,
) (domain.RollbackResult, error) {
	var taken []domain.CheckpointCreated
	number := 0
	if len(history) > 0 {
		number = history[len(history)-1].Number
	}
	k, err := s.temporaryKeeper(rollback.Execution, history, false, func(_ context.Context, event domain.CheckpointCreated) error {
		if event.Status == domain.CheckpointTaken {
			number++
			event.Checkpoint = number
			taken = append(taken, event)
		}
		return nil
	})
	if err != nil {
		return domain.RollbackResult{}, err
	}
	defer k.Close()
	result, err := k.Rollback(ctx, target, rollback.Request.Hash, journal, begin)
	result.Checkpoints = taken
	return result, s.located(ctx, err, target.To, history[len(history)-1])
}

// temporaryKeeper returns a keeper of an execution that no session of this server drives. The caller closes it.
func (s *Service) temporaryKeeper(of domain.ExecutionID, history History, live bool, report Report) (*Keeper, error) {
	if s.store == nil {
		return nil, domain.Errorf(domain.CodeNoCheckpoints, "%s", s.unavailable)
	}
	whole, err := history.Whole()
	if err != nil {
		return nil, err
	}
	trees := whole.To.Trees
	for folder := range trees {
		if _, err := s.store.Existing(folder); err != nil {
			return nil, s.missing(whole.To).With(err)
		}
	}
	return s.keeper(Execution{
		ID: of, Mode: domain.CheckpointsRequired, Folders: slices.Sorted(maps.Keys(trees)), Trees: maps.Clone(trees), Recovered: live,
	}, report), nil
}

// Located returns an error if this server does not have a checkpoint: it takes none, or another machine has the checkpoint.
func (s *Service) Located(point Point) error {
	if s.store == nil {
		return domain.Errorf(domain.CodeNoCheckpoints, "%s", s.unavailable)
	}
	for folder := range point.Trees {
		if _, err := s.store.Existing(folder); err != nil {
			return s.missing(point).With(err)
		}
	}
	return nil
}

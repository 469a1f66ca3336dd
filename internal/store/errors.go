package store

import (
	"errors"
	"fmt"

	"signoff/internal/domain"
)

// ErrCommitUnknown is in the chain of an error where the connection was lost after the commit had been sent: the
// changes are in the database as a whole or not at all, and nobody knows which. Who must know reads the head.
var ErrCommitUnknown = errors.New("the connection was lost during the commit, so nobody knows whether it happened")

// failed wraps an error of the database with the operation.
func (s *Store) failed(doing string, err error) error {
	var coded *domain.Error
	if errors.As(err, &coded) {
		return err
	}
	return domain.Errorf(domain.CodeStorage, "The database did not do its work.").
		With(fmt.Errorf("store: %s: %w", doing, err))
}

func stale(format string, args ...any) error {
	return domain.Errorf(domain.CodeStale, format, args...)
}

// errNotDriven answers a writer whose epoch does not hold any more.
var errNotDriven = stale("The execution is driven by somebody else, has ended, or is gone.")

func notFound(noun string) error {
	return domain.Errorf(domain.CodeNotFound, "There is no such %s.", noun)
}

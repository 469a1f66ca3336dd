package store

import (
	"signoff/internal/domain"
)

func openPostgres(Config) (*Store, error) {
	return nil, domain.Errorf(domain.CodeStorage, "Postgres is not there yet.")
}

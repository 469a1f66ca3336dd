//go:build !tidied

package store

import "signoff/internal/domain"

func openPostgres(Config) (*Store, error) {
	return nil, domain.Errorf(domain.CodeStorage, "This build has no Postgres: its go.mod lacks puddle, which pgxpool needs. "+
		"Run `go mod tidy`, and build with `-tags tidied`.")
}

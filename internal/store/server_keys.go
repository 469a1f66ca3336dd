package store

import (
	"context"
	"crypto/rand"

	"signoff/internal/domain"
)

const serverKeyBytes = 32

// ServerKey returns the random key of that name, the same to all replicas and after every start. Who asks first makes it.
func (s *Store) ServerKey(ctx context.Context, name string) ([]byte, error) {
	fresh := make([]byte, serverKeyBytes)
	rand.Read(fresh) // never fails: crypto/rand ends the program where there is no randomness
	_, err := s.exec(ctx, "make a key of the server", `
		insert into server_keys (name, key, created_us) values ($1, $2, now_us()) on conflict (name) do nothing`, text(name), fresh)
	if err != nil {
		return nil, err
	}
	key, err := selectFirst(ctx, s, "read a key of the server", scanValue[[]byte],
		`select key from server_keys where name = $1`, text(name))
	if err != nil {
		return nil, err
	}
	if len(key) != serverKeyBytes {
		return nil, domain.Errorf(domain.CodeStorage, "The key of the server is damaged.")
	}
	return key, nil
}

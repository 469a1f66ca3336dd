package keys

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"signoff/internal/domain"
	"signoff/internal/failpoint"
	"signoff/internal/store"
)

// Store stores keys.
type Store interface {
	CreateKey(ctx context.Context, key store.Key) error
	KeyByID(ctx context.Context, id string) (store.Key, error)
	HasKeys(ctx context.Context) (bool, error)
	TouchKey(ctx context.Context, id string) error
}

var _ Store = (*store.Store)(nil)

// CreateParams describe a new key.
type CreateParams struct {
	Tenant  domain.TenantID // empty: the default tenant
	Name    string          // of the owner; decisions show it
	Scopes  []string
	Expires *time.Time // nil: never
}

// Create makes and stores a key. The token is returned here and nowhere else.
func Create(ctx context.Context, s Store, params CreateParams) (token string, key store.Key, err error) {
	token, key, err = mint(params)
	if err != nil {
		return "", store.Key{}, err
	}
	if err := s.CreateKey(ctx, key); err != nil {
		return "", store.Key{}, err
	}
	return token, key, nil
}

func mint(params CreateParams) (token string, key store.Key, err error) {
	scopes, err := ParseScopes(params.Scopes)
	if err != nil {
		return "", store.Key{}, err
	}
	if params.Tenant == "" {
		params.Tenant = domain.DefaultTenant
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	switch {
	case !domain.Printable(params.Name, 100):
		return "", store.Key{}, domain.Invalid("name", "A key needs a name of 1 to 100 printable characters.")
	case !params.Tenant.Valid():
		return "", store.Key{}, domain.Invalid("tenant", "A tenant has 1 to 100 printable characters.")
	case params.Expires != nil && !params.Expires.After(now):
		return "", store.Key{}, domain.Invalid("expires", "The key would have expired already.")
	}
	token, id, hash := newToken()
	key = store.Key{ID: id, Tenant: params.Tenant, Name: params.Name, Hash: hash, Created: now, Expires: params.Expires}
	for _, scope := range scopes {
		key.Scopes = append(key.Scopes, string(scope))
	}
	return token, key, nil
}

// FirstToken makes the first key, with every scope, and writes its token to path, readable by the owner alone. It does
// so only while the database has never had a key, and reports whether it did.
//
// It writes the file first: after a crash between the two, the token is invalid and the next start replaces it. The other order could leave a
// database whose only key nobody has.
func FirstToken(ctx context.Context, s Store, path string) (made bool, err error) {
	if some, err := s.HasKeys(ctx); some || err != nil {
		return false, err
	}
	params := CreateParams{Name: "first token"}
	for _, scope := range Scopes {
		params.Scopes = append(params.Scopes, string(scope))
	}
	token, key, err := mint(params)
	if err != nil {
		return false, err
	}
	failpoint.Hit(failpoint.BeforeTokenFile)
	if err := writePrivate(path, token+"\n"); err != nil {
		return false, err
	}
	failpoint.Hit(failpoint.AfterTokenFile)
	err = s.CreateKey(ctx, key)
	failpoint.Hit(failpoint.AfterTokenKey)
	return true, err
}

// writePrivate replaces the file at path atomically. The file has its final mode before its content.
func writePrivate(path, content string) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".token-*") // made with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // it is gone after the rename
	_, err = file.WriteString(content)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	failpoint.Hit(failpoint.BeforeTokenRename)
	return os.Rename(file.Name(), path)
}

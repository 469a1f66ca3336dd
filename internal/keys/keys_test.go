package keys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"signoff/internal/domain"
	"signoff/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a store of keys in memory that counts its queries.
type shelf struct {
	mu      sync.Mutex
	keys    map[string]store.Key
	reads   int
	touches int
	broken  error
}

func newShelf() *shelf { return &shelf{keys: map[string]store.Key{}} }

func (s *shelf) CreateKey(_ context.Context, key store.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[key.ID] = key
	return s.broken
}

func (s *shelf) KeyByID(_ context.Context, id string) (store.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	key, known := s.keys[id]
	if s.broken != nil {
		return store.Key{}, s.broken
	}
	if !known {
		return store.Key{}, domain.Errorf(domain.CodeNotFound, "There is no such key.")
	}
	return key, nil
}

func (s *shelf) HasKeys(context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys) > 0, s.broken
}

func (s *shelf) TouchKey(context.Context, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touches++
	return nil
}

func (s *shelf) revoke(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := s.keys[id], time.Now()
	key.Revoked = &now
	s.keys[id] = key
}

func create(t *testing.T, s Store, order CreateParams) (string, store.Key) {
	t.Helper()
	if order.Name == "" {
		order.Name = "ann"
	}
	if order.Scopes == nil {
		order.Scopes = []string{"executions:read"}
	}
	token, key, err := Create(t.Context(), s, order)
	if err != nil {
		t.Fatal(err)
	}
	return token, key
}

func TestAKeyOpensItsTenantWithItsScopes(t *testing.T) {
	s := newShelf()
	token, key := create(t, s, CreateParams{Tenant: "acme", Scopes: []string{"approvals:read", "executions:write", "approvals:read"}})
	if strings.Contains(string(key.Hash), strings.Split(token, "_")[2]) {
		t.Error("the secret is stored")
	}
	v := NewVerifier(s)
	defer v.Close()
	who, err := v.Verify(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	if who.Tenant != "acme" || who.Actor != (domain.Actor{KeyID: key.ID, Name: "ann"}) {
		t.Errorf("got %+v", who)
	}
	if !who.May(ExecutionsWrite) || !who.May(ApprovalsRead) || who.May(ApprovalsDecide) || len(who.Scopes) != 2 {
		t.Errorf("scopes %v", who.Scopes)
	}
}

func TestWhatDoesNotHoldIsRefusedInTheSameWords(t *testing.T) {
	s := newShelf()
	good, _ := create(t, s, CreateParams{})
	other, _ := create(t, s, CreateParams{})
	_, unhashed := create(t, s, CreateParams{})
	unhashed.Hash = nil
	s.keys[unhashed.ID] = unhashed
	revoked, gone := create(t, s, CreateParams{})
	s.revoke(gone.ID)
	expired, old := create(t, s, CreateParams{})
	past := time.Now().Add(-time.Second)
	old.Expires = &past
	s.keys[old.ID] = old
	id, secret := strings.Split(good, "_")[1], strings.Split(good, "_")[2]

	v := NewVerifier(s)
	defer v.Close()
	for name, token := range map[string]string{
		"empty":             "",
		"prefix alone":      "sgn_",
		"no secret":         "sgn_" + id + "_",
		"no id":             "sgn__" + secret,
		"other prefix":      "xyz_" + id + "_" + secret,
		"upper case":        "sgn_" + id + "_" + strings.ToUpper(secret),
		"longer":            good + "0",
		"shorter":           good[:len(good)-1],
		"another's secret":  "sgn_" + id + "_" + strings.Split(other, "_")[2],
		"unknown id":        "sgn_0000000000000000_" + secret,
		"revoked":           revoked,
		"expired":           expired,
		"empty stored hash": "sgn_" + unhashed.ID + "_" + strings.Repeat("0", 64),
		"SQL":               "sgn_' or 1=1 --_" + secret,
	} {
		_, err := v.Verify(t.Context(), token)
		if domain.CodeOf(err) != domain.CodeUnauthenticated || domain.FailureOf(err) != domain.FailureOf(refused()) {
			t.Errorf("%s: %v", name, err)
		}
		if token != "" && strings.Contains(err.Error(), token) {
			t.Errorf("%s: the error holds the token", name)
		}
	}
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

func TestARevocationIsSeenWithinFiveSecondsAndAQueryIsNotMadePerRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		token, key := create(t, s, CreateParams{})
		v := NewVerifier(s)
		defer v.Close()
		for range 1000 {
			if _, err := v.Verify(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		}
		if err := v.Check(t.Context(), key.ID); err != nil {
			t.Error(err)
		}
		if s.reads != 1 {
			t.Errorf("%d queries for 1000 requests", s.reads)
		}
		s.revoke(key.ID)
		time.Sleep(5 * time.Second)
		if _, err := v.Verify(t.Context(), token); domain.CodeOf(err) != domain.CodeUnauthenticated {
			t.Errorf("five seconds after the revocation: %v", err)
		}
		if err := v.Check(t.Context(), key.ID); domain.CodeOf(err) != domain.CodeUnauthenticated {
			t.Errorf("a stream five seconds after the revocation: %v", err)
		}
	})
}

func TestAnExpiryCountsAtOnceAlsoWhileTheKeyIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		soon := time.Now().Add(time.Second)
		token, _ := create(t, s, CreateParams{Expires: &soon})
		v := NewVerifier(s)
		defer v.Close()
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := v.Verify(t.Context(), token); domain.CodeOf(err) != domain.CodeUnauthenticated {
			t.Errorf("after the expiry: %v", err)
		}
	})
}

func TestUseIsNotedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		token, _ := create(t, s, CreateParams{})
		v := NewVerifier(s)
		for range 150 {
			if _, err := v.Verify(t.Context(), token); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		v.Close()
		if s.touches != 3 {
			t.Errorf("%d touches in 150 seconds", s.touches)
		}
	})
}

func TestADeadDatabaseLetsNobodyInAndSaysWhy(t *testing.T) {
	s := newShelf()
	token, _ := create(t, s, CreateParams{})
	s.broken = domain.Errorf(domain.CodeStorage, "The database did not do its work.")
	v := NewVerifier(s)
	defer v.Close()
	if _, err := v.Verify(t.Context(), token); domain.CodeOf(err) != domain.CodeStorage {
		t.Errorf("got %v", err)
	}
	s.broken = nil
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Errorf("after the database came back: %v", err)
	}
}

func TestGuessedIdsAreForgotten(t *testing.T) {
	v := NewVerifier(newShelf())
	defer v.Close()
	for range 2*maxEntries + 10 {
		token, _, _ := newToken()
		if _, err := v.Verify(t.Context(), token); err == nil {
			t.Fatal("a guess was right")
		}
	}
	if len(v.entries) > maxEntries {
		t.Errorf("%d entries", len(v.entries))
	}
}

func TestOrdersThatMakeNoKey(t *testing.T) {
	past := time.Now().Add(-time.Minute)
	for name, order := range map[string]CreateParams{
		"no scope":      {Name: "ann"},
		"unknown scope": {Name: "ann", Scopes: []string{"admin"}},
		"empty scope":   {Name: "ann", Scopes: []string{""}},
		"no name":       {Scopes: []string{"events:read"}},
		"blank name":    {Name: "  ", Scopes: []string{"events:read"}},
		"control name":  {Name: "ann\n", Scopes: []string{"events:read"}},
		"long name":     {Name: strings.Repeat("a", 101), Scopes: []string{"events:read"}},
		"bad tenant":    {Name: "ann", Tenant: "a\x00b", Scopes: []string{"events:read"}},
		"expired":       {Name: "ann", Scopes: []string{"events:read"}, Expires: &past},
	} {
		s := newShelf()
		if _, _, err := Create(t.Context(), s, order); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
		if len(s.keys) > 0 {
			t.Errorf("%s: a key was stored", name)
		}
	}
}

func TestTheFirstToken(t *testing.T) {
	s := newShelf()
	path := filepath.Join(t.TempDir(), "data", "token")
	made, err := FirstToken(t.Context(), s, path)
	if !made || err != nil {
		t.Fatal(made, err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := NewVerifier(s)
	defer v.Close()
	who, err := v.Verify(t.Context(), strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	if who.Tenant != domain.DefaultTenant || slices.ContainsFunc(Scopes, func(s Scope) bool { return !who.May(s) }) {
		t.Errorf("the first token may not do everything: %+v", who)
	}
	if made, err := FirstToken(t.Context(), s, path); made || err != nil {
		t.Errorf("a second first token: %v %v", made, err)
	}
	if again, _ := os.ReadFile(path); string(again) != string(content) {
		t.Error("the file changed")
	}
}

func TestAFirstTokenThatCannotBeWrittenIsNotStored(t *testing.T) {
	s := newShelf()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if made, err := FirstToken(t.Context(), s, filepath.Join(file, "token")); made || err == nil {
		t.Errorf("%v %v", made, err)
	}
	if len(s.keys) > 0 {
		t.Error("a key was stored that nobody has")
	}
	s.broken = errors.New("down")
	if made, err := FirstToken(t.Context(), s, filepath.Join(t.TempDir(), "token")); made || err == nil {
		t.Errorf("%v %v", made, err)
	}
}

package keys

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const (
	// trustFor is how long a key is trusted after it was read. A revocation takes effect on all replicas within five seconds: this time,
	// and that of one query.
	trustFor     = 3 * time.Second
	queryTimeout = 2 * time.Second

	touchEvery = time.Minute
	// maxEntries bounds the memory for guessed ids.
	maxEntries = 4096
)

// Principal is the sender of a request.
type Principal struct {
	Actor  domain.Actor
	Tenant domain.TenantID
	Scopes []string
}

// May reports whether the principal holds scope.
func (p Principal) May(scope Scope) bool { return slices.Contains(p.Scopes, string(scope)) }

// Verifier finds the owner of a token. All methods may be called at once.
type Verifier struct {
	store   Store
	reading singleflight.Group
	touches sync.WaitGroup

	mu      sync.Mutex
	entries map[string]*entry // by key id; also ids that do not exist
}

type entry struct {
	key     store.Key
	known   bool
	read    time.Time
	touched time.Time
}

// NewVerifier returns a verifier that reads keys from s.
func NewVerifier(s Store) *Verifier {
	return &Verifier{store: s, entries: map[string]*entry{}}
}

// Close waits for the background writes of Verify.
func (v *Verifier) Close() { v.touches.Wait() }

// Verify returns the owner of a token. Every refusal is the same domain.CodeUnauthenticated; domain.CodeStorage means that
// the key cannot be read at the moment.
func (v *Verifier) Verify(ctx context.Context, token string) (Principal, error) {
	id, secret, ok := parseToken(token)
	if !ok {
		return Principal{}, refused()
	}
	key, known, err := v.key(ctx, id)
	if err != nil {
		return Principal{}, err
	}
	fits := sameSecret(secret, key.Hash) // for an unknown id too: the same work
	if !known || !fits || isInvalid(key) {
		return Principal{}, refused()
	}
	v.touch(ctx, id)
	return Principal{
		Actor:  domain.Actor{KeyID: key.ID, Name: key.Name},
		Tenant: key.Tenant,
		Scopes: key.Scopes,
	}, nil
}

// Check returns nil if a verified key is still valid. Streams call it before each write.
func (v *Verifier) Check(ctx context.Context, id string) error {
	key, known, err := v.key(ctx, id)
	if err == nil && (!known || isInvalid(key)) {
		err = refused()
	}
	return err
}

func isInvalid(key store.Key) bool {
	return key.Revoked != nil || (key.Expires != nil && !time.Now().Before(*key.Expires))
}

func refused() error {
	return domain.Errorf(domain.CodeUnauthenticated, "The request has no valid API key.")
}

// key reads a key from the database or, for a short time, from memory.
func (v *Verifier) key(ctx context.Context, id string) (key store.Key, known bool, err error) {
	if key, known, fresh := v.remembered(id); fresh {
		return key, known, nil
	}
	result := v.reading.DoChan(id, func() (any, error) {
		// The other waiting requests must get the answer even if the first one is cancelled.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTimeout)
		defer cancel()
		asked := time.Now()
		key, err := v.store.KeyByID(ctx, id)
		if err != nil && domain.CodeOf(err) != domain.CodeNotFound {
			return nil, err
		}
		v.remember(id, key, err == nil, asked)
		return found{key, err == nil}, nil
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return store.Key{}, false, r.Err
		}
		f := r.Val.(found)
		return f.key, f.known, nil
	case <-ctx.Done():
		return store.Key{}, false, context.Cause(ctx)
	}
}

type found struct {
	key   store.Key
	known bool
}

func (v *Verifier) remembered(id string) (key store.Key, known, fresh bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[id]
	if e == nil || time.Since(e.read) > trustFor {
		return store.Key{}, false, false
	}
	return e.key, e.known, true
}

func (v *Verifier) remember(id string, key store.Key, known bool, read time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.entries[id]
	if e == nil {
		if len(v.entries) >= maxEntries {
			clear(v.entries)
		}
		e = &entry{}
		v.entries[id] = e
	}
	e.key, e.known, e.read = key, known, read
}

// touch stores the use of a key in the background.
func (v *Verifier) touch(ctx context.Context, id string) {
	v.mu.Lock()
	e := v.entries[id]
	due := e != nil && time.Since(e.touched) >= touchEvery
	if due {
		e.touched = time.Now()
	}
	v.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	v.touches.Go(func() {
		defer cancel()
		if err := v.store.TouchKey(ctx, id); err != nil {
			slog.WarnContext(ctx, "cannot store the use of a key", "key", id, "error", err)
		}
	})
}

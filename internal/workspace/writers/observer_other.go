//go:build !linux

package writers

import "errors"

// Observer is there on Linux only.
type Observer struct{}

// New returns an error: no other system tells the sandbox's writes from those of others.
func New() (*Observer, error) {
	return nil, errors.New("writers outside the sandbox are seen on Linux only")
}

// Blind is never called.
func (*Observer) Blind() string { return "" }

// Watch is never called.
func (*Observer) Watch(string, ...string) (*Watch, error) { return nil, errors.ErrUnsupported }

// Close is never called.
func (*Observer) Close() error { return nil }

// Watch is there on Linux only.
type Watch struct{}

// Stop is never called.
func (*Watch) Stop() Sighting { return Sighting{Lost: true} }

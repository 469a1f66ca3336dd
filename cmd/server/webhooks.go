package main

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"signoff/internal/domain"
	"signoff/internal/events"
	"signoff/internal/store"
	"signoff/internal/webhooks"
)

// openTargets reads the targets that webhooks may have.
func (f configFile) openTargets() (webhooks.Targets, error) {
	targets := webhooks.Targets{AllowHosts: f.Webhooks.AllowHosts}
	if err := targets.Check(); err != nil {
		return targets, f.mistake(err)
	}
	if _, err := f.publicHost(); err != nil {
		return targets, f.mistake(err)
	}
	return targets, nil
}

// publicHost is the host of approval links; requests may name it as their host. Without a public URL there is none.
func (f configFile) publicHost() ([]string, error) {
	if f.Webhooks.PublicURL == "" {
		return nil, nil
	}
	public, err := url.Parse(f.Webhooks.PublicURL)
	if err != nil || public.Scheme != "https" && public.Scheme != "http" || public.Host == "" || public.User != nil ||
		strings.Trim(public.Path, "/") != "" || strings.ContainsAny(f.Webhooks.PublicURL, "?#") {
		return nil, domain.Invalid("/webhooks/publicUrl", "This is the address of the server as people see it, without a path, such as https://signoff.example.")
	}
	return []string{public.Host}, nil
}

// outbox holds the dispatcher and the service of webhooks.
type outbox struct {
	dispatcher *webhooks.Dispatcher
	service    *webhooks.Service
	hosts      []string // that links name
}

func (f configFile) openOutbox(ctx context.Context, s *store.Store) (outbox, error) {
	targets, err := f.openTargets()
	if err != nil {
		return outbox{}, err
	}
	hosts, err := f.publicHost()
	if err != nil {
		return outbox{}, f.mistake(err)
	}
	key, err := s.ServerKey(ctx, "links")
	if err != nil {
		return outbox{}, err
	}
	links := webhooks.NewLinks(key, f.Webhooks.PublicURL)
	dispatcher := webhooks.NewDispatcher(s, webhooks.Config{Targets: targets, Links: links, Version: version})
	return outbox{dispatcher, webhooks.NewService(s, targets, links, dispatcher.Notify), hosts}, nil
}

// notifyingStore is the store of the log. It notifies the dispatcher when a commit has written deliveries: without it, each webhook
// would wait for the next poll.
type notifyingStore struct {
	*store.Store
	notify func()
}

var _ events.Store = notifyingStore{}

// Commit also notifies after a failure: the commit may have happened, and written deliveries.
func (s notifyingStore) Commit(ctx context.Context, changes []store.Change) ([]store.Result, error) {
	results, err := s.Store.Commit(ctx, changes)
	if slices.ContainsFunc(changes, func(c store.Change) bool { return c.SendsWebhooks() }) {
		s.notify()
	}
	return results, err
}

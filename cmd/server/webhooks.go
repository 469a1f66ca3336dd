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

// webhookSection is the section "webhooks": targets beside public addresses, and the address of this server for people.
type webhookSection struct {
	AllowHosts []string `yaml:"allowHosts"` // host, or host:port
	PublicURL  string   `yaml:"publicUrl"`
}

// openTargets reads the targets that webhooks may have.
func (r registry) openTargets() (webhooks.Targets, error) {
	targets := webhooks.Targets{AllowHosts: r.Webhooks.AllowHosts}
	if err := targets.Check(); err != nil {
		return targets, r.mistake(err)
	}
	if _, err := r.publicHost(); err != nil {
		return targets, r.mistake(err)
	}
	return targets, nil
}

// publicHost is the host of links, which requests may name, too; none without a public URL.
func (r registry) publicHost() ([]string, error) {
	if r.Webhooks.PublicURL == "" {
		return nil, nil
	}
	public, err := url.Parse(r.Webhooks.PublicURL)
	if err != nil || public.Scheme != "https" && public.Scheme != "http" || public.Host == "" || public.User != nil ||
		strings.Trim(public.Path, "/") != "" || strings.ContainsAny(r.Webhooks.PublicURL, "?#") {
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

func (r registry) openOutbox(ctx context.Context, s *store.Store) (outbox, error) {
	targets, err := r.openTargets()
	if err != nil {
		return outbox{}, err
	}
	hosts, err := r.publicHost()
	if err != nil {
		return outbox{}, r.mistake(err)
	}
	key, err := s.ServerKey(ctx, "links")
	if err != nil {
		return outbox{}, err
	}
	links := webhooks.NewLinks(key, r.Webhooks.PublicURL)
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

// Commit notifies also after a failure: a commit with an unknown outcome may have written deliveries.
func (r notifyingStore) Commit(ctx context.Context, changes []store.Change) ([]store.Result, error) {
	outcomes, err := r.Store.Commit(ctx, changes)
	if slices.ContainsFunc(changes, func(c store.Change) bool { return c.SendsWebhooks() }) {
		r.notify()
	}
	return outcomes, err
}

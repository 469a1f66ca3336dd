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

// webhookSection is the section "webhooks": where requests may go beside public addresses, and where people reach this server.
type webhookSection struct {
	AllowHosts []string `yaml:"allowHosts"` // host, or host:port
	PublicURL  string   `yaml:"publicUrl"`
}

// openTargets reads where webhooks may lead.
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

// publicHost is the host that links name, which requests may then name, too; none where there is no such address.
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

// outbox is what tells webhooks, and where people look after them.
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

// notifyingStore is the store of the log, which rings the dispatcher when something was committed that it is to tell: without it, each webhook
// would wait for the next poll.
type notifyingStore struct {
	*store.Store
	notify func()
}

var _ events.Store = notifyingStore{}

// Commit rings also where it failed: of a commit whose outcome stayed unknown something may be there.
func (r notifyingStore) Commit(ctx context.Context, changes []store.Change) ([]store.Outcome, error) {
	outcomes, err := r.Store.Commit(ctx, changes)
	if slices.ContainsFunc(changes, func(c store.Change) bool { return c.SendsWebhooks() }) {
		r.notify()
	}
	return outcomes, err
}

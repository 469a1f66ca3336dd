package webhooks

import (
	"context"
	"net/url"
	"time"

	"github.com/google/uuid"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const (
	// MaxPerTenant bounds the deliveries that one commit writes for an event.
	MaxPerTenant = 20
	// bothSecrets is the time in which the old secret signs beside the new one.
	bothSecrets = 24 * time.Hour
)

// TestType is the type of a test delivery, which no event caused.
const TestType domain.EventType = "webhook.test"

// Registry stores webhooks and their deliveries.
type Registry interface {
	CreateWebhook(ctx context.Context, w store.Webhook, limit int, record domain.AuditRecord) error
	Webhook(ctx context.Context, tenant domain.TenantID, id string) (store.Webhook, error)
	Webhooks(ctx context.Context, tenant domain.TenantID) ([]store.Webhook, error)
	DeleteWebhook(ctx context.Context, tenant domain.TenantID, id string, record domain.AuditRecord) error
	RotateWebhook(ctx context.Context, tenant domain.TenantID, id, secret string, both time.Duration, record domain.AuditRecord) error
	EnableWebhook(ctx context.Context, tenant domain.TenantID, id string, record domain.AuditRecord) error
	Deliveries(ctx context.Context, tenant domain.TenantID, webhook string, state store.DeliveryState, after string, limit int) (
		store.Page[store.Delivery], error)
	Redeliver(ctx context.Context, tenant domain.TenantID, webhook, id string, record domain.AuditRecord) (store.Delivery, error)
	AddDelivery(ctx context.Context, d store.Delivery) error
}

var _ Registry = (*store.Store)(nil)

// Service creates, changes and deletes webhooks. Its methods may be called at once.
type Service struct {
	Registry

	targets Targets
	links   *Links
	notify  func() // called when a delivery is due
}

// NewService returns a service; notify is [Dispatcher.Notify].
func NewService(registry Registry, targets Targets, links *Links, notify func()) *Service {
	return &Service{Registry: registry, targets: targets, links: links, notify: notify}
}

// Links returns the links to the pages of approvals.
func (s *Service) Links() *Links { return s.links }

// CreateParams describe a new webhook. An empty secret has one generated.
type CreateParams struct {
	Tenant      domain.TenantID
	URL         string
	Description string
	Types       []domain.EventType // nil: all
	Links       bool
	Secret      string
	By          domain.Actor
	Channel     string
}

// Create stores a webhook and returns it with its secret. A bad address or secret is domain.CodeInvalid, one webhook too many
// domain.CodeConflict.
func (s *Service) Create(ctx context.Context, params CreateParams) (store.Webhook, error) {
	if err := s.targets.check(params.URL); err != nil {
		return store.Webhook{}, err
	}
	if params.Links && !s.links.Public() {
		return store.Webhook{}, domain.Invalid("/links", "This server does not know its public address; the operator sets webhooks.publicUrl.")
	}
	secret, err := chosenSecret(params.Secret)
	if err != nil {
		return store.Webhook{}, err
	}
	hook := store.Webhook{
		ID: uuid.Must(uuid.NewV7()).String(), Tenant: params.Tenant, URL: params.URL, Description: params.Description, Types: params.Types,
		Links: params.Links, Secret: secret, Created: time.Now().UTC().Truncate(time.Microsecond), By: params.By,
	}
	target, err := url.Parse(params.URL)
	if err != nil { // unreachable: it was checked
		return store.Webhook{}, err
	}
	record := auditRecord("webhook.created", hook.ID, params.By, params.Channel)
	// The audit has only the host of the address, because the path is often a key.
	record.Details = domain.Encode(map[string]any{"host": target.Host, "types": params.Types, "links": params.Links})
	return hook, s.CreateWebhook(ctx, hook, MaxPerTenant, record)
}

// chosenSecret returns the given secret, or a new one.
func chosenSecret(secret string) (string, error) {
	if secret == "" {
		return newSecret(), nil
	}
	return secret, checkSecret(secret)
}

// Delete removes a webhook with its deliveries. Links that it got are no longer valid.
func (s *Service) Delete(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) error {
	return s.DeleteWebhook(ctx, tenant, id, auditRecord("webhook.deleted", id, by, channel))
}

// Rotate gives a webhook another secret, a generated one if secret is empty, and returns the webhook. Both secrets sign for a day.
func (s *Service) Rotate(ctx context.Context, tenant domain.TenantID, id, secret string, by domain.Actor, channel string) (store.Webhook, error) {
	secret, err := chosenSecret(secret)
	if err != nil {
		return store.Webhook{}, err
	}
	if err := s.RotateWebhook(ctx, tenant, id, secret, bothSecrets, auditRecord("webhook.rotated", id, by, channel)); err != nil {
		return store.Webhook{}, err
	}
	return s.Webhook(ctx, tenant, id)
}

// Enable enables a disabled webhook.
func (s *Service) Enable(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) (store.Webhook, error) {
	if err := s.EnableWebhook(ctx, tenant, id, auditRecord("webhook.enabled", id, by, channel)); err != nil {
		return store.Webhook{}, err
	}
	s.notify()
	return s.Webhook(ctx, tenant, id)
}

// Resend sends a delivery again, whatever its outcome.
func (s *Service) Resend(ctx context.Context, tenant domain.TenantID, webhook, id string, by domain.Actor, channel string) (store.Delivery, error) {
	hook, err := s.enabled(ctx, tenant, webhook)
	if err != nil {
		return store.Delivery{}, err
	}
	record := auditRecord("webhook.redelivered", hook.ID, by, channel)
	record.Details = domain.Encode(map[string]any{"deliveryId": id})
	delivery, err := s.Redeliver(ctx, tenant, webhook, id, record)
	if err == nil {
		s.notify()
	}
	return delivery, err
}

// Test sends a delivery of the type [TestType].
func (s *Service) Test(ctx context.Context, tenant domain.TenantID, webhook string) (store.Delivery, error) {
	hook, err := s.enabled(ctx, tenant, webhook)
	if err != nil {
		return store.Delivery{}, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	delivery := store.Delivery{
		Webhook: hook.ID, ID: "msg_" + uuid.Must(uuid.NewV7()).String(), Tenant: tenant, Type: string(TestType), Created: now, Due: &now,
		State: store.DeliveryPending,
		Body:  domain.Encode(domain.Notification{Type: TestType, Timestamp: now, Data: domain.NotificationData{Webhook: hook.ID}}),
	}
	if err := s.AddDelivery(ctx, delivery); err != nil {
		return store.Delivery{}, err
	}
	s.notify()
	return delivery, nil
}

func (s *Service) enabled(ctx context.Context, tenant domain.TenantID, id string) (store.Webhook, error) {
	hook, err := s.Webhook(ctx, tenant, id)
	if err == nil && hook.Disabled != nil {
		err = domain.Errorf(domain.CodeConflict, "The webhook is disabled; enable it first.")
	}
	return hook, err
}

func auditRecord(action, webhook string, by domain.Actor, channel string) domain.AuditRecord {
	return domain.AuditRecord{Action: action, Subject: webhook, Actor: &by, Channel: channel}
}

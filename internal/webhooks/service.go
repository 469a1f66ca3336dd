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
	// MaxPerTenant bounds what one commit has to write.
	MaxPerTenant = 20
	// bothSecrets is how long the old secret signs beside the new one.
	bothSecrets = 24 * time.Hour
)

// TestType is the type of a delivery that tells of nothing.
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
	notify  func() // something is due
}

// NewService returns a service; notify is [Dispatcher.Notify].
func NewService(registry Registry, targets Targets, links *Links, ring func()) *Service {
	return &Service{Registry: registry, targets: targets, links: links, notify: ring}
}

// Links are what the pages of approvals are reached by.
func (b *Service) Links() *Links { return b.links }

// CreateParams is a webhook that somebody wants. Its secret may be empty: then one is made.
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
func (b *Service) Create(ctx context.Context, order CreateParams) (store.Webhook, error) {
	if err := b.targets.check(order.URL); err != nil {
		return store.Webhook{}, err
	}
	if order.Links && !b.links.Public() {
		return store.Webhook{}, domain.Invalid("/links", "This server does not know under which address people reach it; the operator sets webhooks.publicUrl.")
	}
	secret, err := chosenSecret(order.Secret)
	if err != nil {
		return store.Webhook{}, err
	}
	hook := store.Webhook{
		ID: uuid.Must(uuid.NewV7()).String(), Tenant: order.Tenant, URL: order.URL, Description: order.Description, Types: order.Types,
		Links: order.Links, Secret: secret, Created: time.Now().UTC().Truncate(time.Microsecond), By: order.By,
	}
	record := auditRecord("webhook.created", hook.ID, order.By, order.Channel)
	record.Details = domain.Encode(map[string]any{"host": hostOf(order.URL), "types": order.Types, "links": order.Links})
	return hook, b.CreateWebhook(ctx, hook, MaxPerTenant, record)
}

// hostOf is all that the audit tells of an address: what follows the host is often a key.
func hostOf(address string) string {
	target, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return target.Host
}

// chosenSecret is the secret that somebody chose, or a new one.
func chosenSecret(secret string) (string, error) {
	if secret == "" {
		return newSecret(), nil
	}
	return secret, checkSecret(secret)
}

// Delete removes a webhook with its deliveries. Links that were sent to it do not hold any more.
func (b *Service) Delete(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) error {
	return b.DeleteWebhook(ctx, tenant, id, auditRecord("webhook.deleted", id, by, channel))
}

// Rotate gives a webhook another secret, a new one where none is given, and returns the webhook with it. For a day both sign.
func (b *Service) Rotate(ctx context.Context, tenant domain.TenantID, id, secret string, by domain.Actor, channel string) (store.Webhook, error) {
	secret, err := chosenSecret(secret)
	if err != nil {
		return store.Webhook{}, err
	}
	if err := b.RotateWebhook(ctx, tenant, id, secret, bothSecrets, auditRecord("webhook.rotated", id, by, channel)); err != nil {
		return store.Webhook{}, err
	}
	return b.Webhook(ctx, tenant, id)
}

// Enable lets a webhook be told again.
func (b *Service) Enable(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) (store.Webhook, error) {
	if err := b.EnableWebhook(ctx, tenant, id, auditRecord("webhook.enabled", id, by, channel)); err != nil {
		return store.Webhook{}, err
	}
	b.notify()
	return b.Webhook(ctx, tenant, id)
}

// Resend sends a delivery anew, whatever came of it.
func (b *Service) Resend(ctx context.Context, tenant domain.TenantID, webhook, id string, by domain.Actor, channel string) (store.Delivery, error) {
	hook, err := b.enabled(ctx, tenant, webhook)
	if err != nil {
		return store.Delivery{}, err
	}
	record := auditRecord("webhook.redelivered", hook.ID, by, channel)
	record.Details = domain.Encode(map[string]any{"deliveryId": id})
	delivery, err := b.Redeliver(ctx, tenant, webhook, id, record)
	if err == nil {
		b.notify()
	}
	return delivery, err
}

// Test sends something that tells of nothing.
func (b *Service) Test(ctx context.Context, tenant domain.TenantID, webhook string) (store.Delivery, error) {
	hook, err := b.enabled(ctx, tenant, webhook)
	if err != nil {
		return store.Delivery{}, err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	delivery := store.Delivery{
		Webhook: hook.ID, ID: "msg_" + uuid.Must(uuid.NewV7()).String(), Tenant: tenant, Type: string(TestType), Created: now, Due: &now,
		State: store.DeliveryPending,
		Body:  domain.Encode(domain.Notification{Type: TestType, Timestamp: now, Data: domain.NotificationData{Webhook: hook.ID}}),
	}
	if err := b.AddDelivery(ctx, delivery); err != nil {
		return store.Delivery{}, err
	}
	b.notify()
	return delivery, nil
}

func (b *Service) enabled(ctx context.Context, tenant domain.TenantID, id string) (store.Webhook, error) {
	hook, err := b.Webhook(ctx, tenant, id)
	if err == nil && hook.Disabled != nil {
		err = domain.Errorf(domain.CodeConflict, "The webhook is disabled; enable it first.")
	}
	return hook, err
}

func auditRecord(action, webhook string, by domain.Actor, channel string) domain.AuditRecord {
	return domain.AuditRecord{Action: action, Subject: webhook, Actor: &by, Channel: channel}
}

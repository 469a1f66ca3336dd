package http

import (
	"context"
	"time"

	"signoff/api"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/store"
	"signoff/internal/webhooks"
)

// Webhooks are the addresses that are told of what happens. What belongs to another tenant is domain.CodeNotFound.
type Webhooks interface {
	// Create returns the webhook with its secret; what is wrong with the order is domain.CodeInvalid, one too many domain.CodeConflict.
	Create(ctx context.Context, order webhooks.CreateParams) (store.Webhook, error)
	Webhook(ctx context.Context, tenant domain.TenantID, id string) (store.Webhook, error)
	Webhooks(ctx context.Context, tenant domain.TenantID) ([]store.Webhook, error)
	Delete(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) error
	// Rotate takes an empty secret for a new one.
	Rotate(ctx context.Context, tenant domain.TenantID, id, secret string, by domain.Actor, channel string) (store.Webhook, error)
	Enable(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) (store.Webhook, error)
	Deliveries(ctx context.Context, tenant domain.TenantID, webhook string, state store.DeliveryState, after string, limit int) (
		store.Page[store.Delivery], error)
	// Resend and Test are domain.CodeConflict where the webhook is disabled.
	Resend(ctx context.Context, tenant domain.TenantID, webhook, id string, by domain.Actor, channel string) (store.Delivery, error)
	Test(ctx context.Context, tenant domain.TenantID, webhook string) (store.Delivery, error)
	Links() *webhooks.Links
}

var _ Webhooks = (*webhooks.Service)(nil)

// listWebhooks shows all: there are few.
func (s *Server) listWebhooks(ctx context.Context, _ struct{}) (responder, error) {
	all, err := s.webhooks.Webhooks(ctx, who(ctx).Tenant)
	if err != nil {
		return nil, err
	}
	items := make([]api.Webhook, len(all))
	for i, hook := range all {
		items[i] = toWebhook(hook)
	}
	return okJSON(api.WebhookPage{Items: items}), nil
}

type createWebhook struct {
	Body api.CreateWebhook
}

// createWebhook is the one answer with the secret, but for that of a rotation. Who may not decide cannot have links sent that do.
func (s *Server) createWebhook(ctx context.Context, request createWebhook) (responder, error) {
	by, body := who(ctx), request.Body
	order := webhooks.CreateParams{
		Tenant: by.Tenant, URL: body.Url, Description: s.masker.MaskString(api.Or(body.Description, "")), Links: api.Or(body.Links, false),
		Secret: api.Or(body.Secret, ""), Types: api.Or(body.Types, nil), By: by.Actor, Channel: audit.ByAPI,
	}
	if order.Links && !by.May(keys.ApprovalsDecide) {
		return nil, domain.Errorf(domain.CodeForbidden, "Links decide, so the key needs the scope %s for them.", keys.ApprovalsDecide)
	}
	if order.Description != "" { // links are made in its name
		if err := legible("/description", order.Description); err != nil {
			return nil, err
		}
	}
	if err := s.admission.Literal("/url", order.URL); err != nil {
		return nil, err
	}
	hook, err := s.webhooks.Create(ctx, order)
	if err != nil {
		return nil, err
	}
	return createdJSON("/webhooks/"+hook.ID, api.WebhookWithSecret{Webhook: toWebhook(hook), Secret: hook.Secret}), nil
}

// getWebhook shows one.
func (s *Server) getWebhook(ctx context.Context, request named) (responder, error) {
	hook, err := s.webhooks.Webhook(ctx, who(ctx).Tenant, request.ID)
	return okJSON(toWebhook(hook)), err
}

// deleteWebhook removes one with its deliveries.
func (s *Server) deleteWebhook(ctx context.Context, request named) (responder, error) {
	by := who(ctx)
	return noContent{}, s.webhooks.Delete(ctx, by.Tenant, request.ID, by.Actor, audit.ByAPI)
}

type rotateWebhookSecret struct {
	named
	Body *api.RotateSecret
}

// rotateWebhookSecret gives a webhook another secret, and shows it once.
func (s *Server) rotateWebhookSecret(ctx context.Context, request rotateWebhookSecret) (responder, error) {
	by, secret := who(ctx), ""
	if request.Body != nil {
		secret = api.Or(request.Body.Secret, "")
	}
	hook, err := s.webhooks.Rotate(ctx, by.Tenant, request.ID, secret, by.Actor, audit.ByAPI)
	return okJSON(api.WebhookWithSecret{Webhook: toWebhook(hook), Secret: hook.Secret}), err
}

// enableWebhook lets one be told again.
func (s *Server) enableWebhook(ctx context.Context, request named) (responder, error) {
	by := who(ctx)
	hook, err := s.webhooks.Enable(ctx, by.Tenant, request.ID, by.Actor, audit.ByAPI)
	return okJSON(toWebhook(hook)), err
}

// testWebhook sends something that tells of nothing.
func (s *Server) testWebhook(ctx context.Context, request named) (responder, error) {
	delivery, err := s.webhooks.Test(ctx, who(ctx).Tenant, request.ID)
	return acceptedJSON(toDelivery(delivery)), err
}

type listWebhookDeliveries struct {
	named
	State store.DeliveryState `query:"state"`
	paged
}

// listWebhookDeliveries shows a page, the newest first.
func (s *Server) listWebhookDeliveries(ctx context.Context, request listWebhookDeliveries) (responder, error) {
	page, err := s.webhooks.Deliveries(ctx, who(ctx).Tenant, request.ID, request.State, request.Cursor, request.Limit)
	if err != nil {
		return nil, err
	}
	items := make([]api.WebhookDelivery, len(page.Items))
	for i, delivery := range page.Items {
		items[i] = toDelivery(delivery)
	}
	return okJSON(api.WebhookDeliveryPage{Items: items, NextCursor: textOrNull(page.Next)}), nil
}

type redeliver struct {
	named
	DeliveryID string `path:"deliveryId"`
}

// redeliver sends a delivery anew.
func (s *Server) redeliver(ctx context.Context, request redeliver) (responder, error) {
	by := who(ctx)
	delivery, err := s.webhooks.Resend(ctx, by.Tenant, request.ID, request.DeliveryID, by.Actor, audit.ByAPI)
	return acceptedJSON(toDelivery(delivery)), err
}

// ——— out ———

// toWebhook never has the secret.
func toWebhook(hook store.Webhook) api.Webhook {
	types := hook.Types
	if types == nil {
		types = domain.NotificationTypes
	}
	return api.Webhook{
		Id: hook.ID, Url: hook.URL, Description: hook.Description, Links: hook.Links, CreatedAt: api.Time(hook.Created),
		CreatedBy: hook.By, DisabledAt: timeOrNull(hook.Disabled),
		DisabledBecause: textOrNull(hook.DisabledBecause), Types: types,
	}
}

func toDelivery(d store.Delivery) api.WebhookDelivery {
	shown := api.WebhookDelivery{
		Id: d.ID, Type: d.Type, State: api.DeliveryState(d.State), ExecutionId: textOrNull(string(d.Execution)), Body: d.Body,
		CreatedAt: api.Time(d.Created), DueAt: timeOrNull(d.Due), Attempts: []api.WebhookAttempt{},
	}
	for _, a := range d.Attempts {
		attempt := api.WebhookAttempt{
			Number: a.N, At: api.Time(a.Time), Error: textOrNull(a.Error), DurationMs: float32(a.Duration) / float32(time.Millisecond),
		}
		if a.Status != 0 {
			attempt.Status = &a.Status
		}
		shown.Attempts = append(shown.Attempts, attempt)
	}
	return shown
}

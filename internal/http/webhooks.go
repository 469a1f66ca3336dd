package http

import (
	"context"
	"time"

	"signoff/api"
	"signoff/internal/admission"
	"signoff/internal/audit"
	"signoff/internal/domain"
	"signoff/internal/keys"
	"signoff/internal/store"
	"signoff/internal/webhooks"
)

// Webhooks stores webhooks and sends deliveries again. A webhook of another tenant is domain.CodeNotFound.
type Webhooks interface {
	// Create returns the webhook with its secret. Bad parameters are domain.CodeInvalid, one webhook too many is domain.CodeConflict.
	Create(ctx context.Context, params webhooks.CreateParams) (store.Webhook, error)
	Webhook(ctx context.Context, tenant domain.TenantID, id string) (store.Webhook, error)
	Webhooks(ctx context.Context, tenant domain.TenantID) ([]store.Webhook, error)
	Delete(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) error
	// Rotate generates a secret if the given one is empty.
	Rotate(ctx context.Context, tenant domain.TenantID, id, secret string, by domain.Actor, channel string) (store.Webhook, error)
	Enable(ctx context.Context, tenant domain.TenantID, id string, by domain.Actor, channel string) (store.Webhook, error)
	Deliveries(ctx context.Context, tenant domain.TenantID, webhook string, state store.DeliveryState, after string, limit int) (
		store.Page[store.Delivery], error)
	// Resend and Test are domain.CodeConflict if the webhook is disabled.
	Resend(ctx context.Context, tenant domain.TenantID, webhook, id string, by domain.Actor, channel string) (store.Delivery, error)
	Test(ctx context.Context, tenant domain.TenantID, webhook string) (store.Delivery, error)
	Links() *webhooks.Links
}

var _ Webhooks = (*webhooks.Service)(nil)

// webhookHandlers answer the routes of webhooks and their deliveries.
type webhookHandlers struct {
	webhooks  Webhooks
	admission *admission.Admission
	masker    Masker
}

// list returns all webhooks of the tenant, of which there are few.
func (h webhookHandlers) list(ctx context.Context, _ struct{}) (responder, error) {
	all, err := h.webhooks.Webhooks(ctx, principalOf(ctx).Tenant)
	return okJSON(api.WebhookPage{Items: mapped(all, toWebhook)}), err
}

type createWebhook struct {
	Body api.CreateWebhook
}

// create returns the secret, as only a rotation does besides. A key that may not decide cannot have links sent that do.
func (h webhookHandlers) create(ctx context.Context, request createWebhook) (responder, error) {
	by, body := principalOf(ctx), request.Body
	params := webhooks.CreateParams{
		Tenant: by.Tenant, URL: body.Url, Description: h.masker.MaskString(api.Or(body.Description, "")), Links: api.Or(body.Links, false),
		Secret: api.Or(body.Secret, ""), Types: api.Or(body.Types, nil), By: by.Actor, Channel: audit.ByAPI,
	}
	if params.Links && !by.May(keys.ApprovalsDecide) {
		return nil, domain.Errorf(domain.CodeForbidden, "Links can decide, so the key needs the scope %s for them.", keys.ApprovalsDecide)
	}
	if params.Description != "" { // the audit names it as the sender of links
		if err := checkName("/description", params.Description); err != nil {
			return nil, err
		}
	}
	if err := h.admission.RefuseSecrets("/url", params.URL); err != nil {
		return nil, err
	}
	hook, err := h.webhooks.Create(ctx, params)
	return createdJSON("/webhooks/"+hook.ID, api.WebhookWithSecret{Webhook: toWebhook(hook), Secret: hook.Secret}), err
}

func (h webhookHandlers) get(ctx context.Context, request namedPath) (responder, error) {
	hook, err := h.webhooks.Webhook(ctx, principalOf(ctx).Tenant, request.ID)
	return okJSON(toWebhook(hook)), err
}

// delete removes a webhook with its deliveries.
func (h webhookHandlers) delete(ctx context.Context, request namedPath) (responder, error) {
	by := principalOf(ctx)
	return noContent{}, h.webhooks.Delete(ctx, by.Tenant, request.ID, by.Actor, audit.ByAPI)
}

type rotateSecret struct {
	namedPath
	Body *api.RotateSecret
}

// rotateSecret replaces the secret of a webhook and returns the new one.
func (h webhookHandlers) rotateSecret(ctx context.Context, request rotateSecret) (responder, error) {
	by, secret := principalOf(ctx), ""
	if request.Body != nil {
		secret = api.Or(request.Body.Secret, "")
	}
	hook, err := h.webhooks.Rotate(ctx, by.Tenant, request.ID, secret, by.Actor, audit.ByAPI)
	return okJSON(api.WebhookWithSecret{Webhook: toWebhook(hook), Secret: hook.Secret}), err
}

func (h webhookHandlers) enable(ctx context.Context, request namedPath) (responder, error) {
	by := principalOf(ctx)
	hook, err := h.webhooks.Enable(ctx, by.Tenant, request.ID, by.Actor, audit.ByAPI)
	return okJSON(toWebhook(hook)), err
}

// test sends a notification of no event.
func (h webhookHandlers) test(ctx context.Context, request namedPath) (responder, error) {
	delivery, err := h.webhooks.Test(ctx, principalOf(ctx).Tenant, request.ID)
	return acceptedJSON(toDelivery(delivery)), err
}

type listDeliveries struct {
	namedPath
	State store.DeliveryState `query:"state"`
	paged
}

// deliveries returns a page, newest first.
func (h webhookHandlers) deliveries(ctx context.Context, request listDeliveries) (responder, error) {
	page, err := h.webhooks.Deliveries(ctx, principalOf(ctx).Tenant, request.ID, request.State, request.Cursor, request.Limit)
	return okJSON(api.WebhookDeliveryPage{Items: mapped(page.Items, toDelivery), NextCursor: textOrNull(page.Next)}), err
}

type redeliver struct {
	namedPath
	DeliveryID string `path:"deliveryId"`
}

// redeliver sends a delivery again.
func (h webhookHandlers) redeliver(ctx context.Context, request redeliver) (responder, error) {
	by := principalOf(ctx)
	delivery, err := h.webhooks.Resend(ctx, by.Tenant, request.ID, request.DeliveryID, by.Actor, audit.ByAPI)
	return acceptedJSON(toDelivery(delivery)), err
}

// toWebhook leaves the secret out.
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
	return api.WebhookDelivery{
		Id: d.ID, Type: d.Type, State: api.DeliveryState(d.State), ExecutionId: textOrNull(string(d.Execution)), Body: d.Body,
		CreatedAt: api.Time(d.Created), DueAt: timeOrNull(d.Due), Attempts: mapped(d.Attempts, toAttempt),
	}
}

func toAttempt(a store.Attempt) api.WebhookAttempt {
	attempt := api.WebhookAttempt{
		Number: a.N, At: api.Time(a.Time), Error: textOrNull(a.Error), DurationMs: float32(a.Duration) / float32(time.Millisecond),
	}
	if a.Status != 0 {
		attempt.Status = &a.Status
	}
	return attempt
}

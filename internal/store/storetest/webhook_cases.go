package storetest

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const (
	manyWebhooks = 20
	visible      = time.Minute
)

// webhook is one of a tenant, told of types or, without any, of all.
func webhook(of domain.TenantID, types ...domain.EventType) store.Webhook {
	return store.Webhook{ID: newID(), Tenant: of, URL: "https://hooks.example/<x>?a=b&c", Description: "<ours>", Types: types,
		Links: len(types) == 0, Secret: "whsec_one", Created: now(), By: someone}
}

func (w *world) hooked(hook store.Webhook) store.Webhook {
	w.Helper()
	w.must(w.s.CreateWebhook(w.ctx, hook, manyWebhooks, record("webhook.created")))
	return hook
}

// deliveries are those of a webhook, the oldest first.
func (w *world) deliveries(hook store.Webhook) []store.Delivery {
	w.Helper()
	page := ok(w.s.Deliveries(w.ctx, hook.Tenant, hook.ID, "", "", 0))(w)
	slices.Reverse(page.Items)
	return page.Items
}

func (w *world) claimDeliveries(s *store.Store, hook store.Webhook, limit int) []store.Delivery {
	w.Helper()
	_, claimed, err := s.ClaimDeliveries(w.ctx, hook.ID, limit, visible)
	w.must(err)
	return claimed
}

func (w *world) isDue(hook store.Webhook) bool {
	w.Helper()
	due := ok(w.s.DueWebhooks(w.ctx))(w)
	return slices.Contains(due, store.DueWebhook{ID: hook.ID, Tenant: hook.Tenant})
}

// attempted is what came of a claimed attempt.
func attempted(d store.Delivery, status int, state store.DeliveryState, wait time.Duration) store.Attempted {
	return store.Attempted{Delivery: d, State: state, Wait: wait,
		Attempt: store.Attempt{Time: now(), Status: status, Error: "<why>", Duration: 5 * time.Millisecond}}
}

func webhookRoundTrip(w *world) {
	all := []store.Webhook{
		w.hooked(webhook(tenant)), w.hooked(webhook(tenant, domain.ApprovalRequestedType, domain.ExecutionFailedType)),
	}
	w.hooked(webhook("another"))
	got, err := w.s.Webhooks(w.ctx, tenant)
	w.must(err)
	if diff := cmp.Diff(all, got); diff != "" {
		w.Error(diff)
	}
	w.must(w.s.RotateWebhook(w.ctx, tenant, all[0].ID, "whsec_two", time.Hour, record("webhook.rotated")))
	one, err := w.s.Webhook(w.ctx, tenant, all[0].ID)
	w.must(err)
	if one.Secret != "whsec_two" || one.Previous != "whsec_one" {
		w.Errorf("%+v", one)
	}
	w.must(w.s.RotateWebhook(w.ctx, tenant, all[0].ID, "whsec_three", 0, record("webhook.rotated")))
	if one, err = w.s.Webhook(w.ctx, tenant, all[0].ID); err != nil || one.Secret != "whsec_three" || one.Previous != "" {
		w.Errorf("%+v, %v", one, err)
	}
	w.unaudited(func() {
		for name, err := range map[string]error{
			"rotate":    w.s.RotateWebhook(w.ctx, "another", all[0].ID, "x", 0, record("x")),
			"enable":    w.s.EnableWebhook(w.ctx, "another", all[0].ID, record("x")),
			"delete":    w.s.DeleteWebhook(w.ctx, "another", all[0].ID, record("x")),
			"redeliver": second(w.s.Redeliver(w.ctx, tenant, all[0].ID, "msg_x", record("x"))),
			"list":      second(w.s.Deliveries(w.ctx, "another", all[0].ID, "", "", 0)),
		} {
			if domain.CodeOf(err) != domain.CodeNotFound {
				w.Errorf("%s: %v", name, err)
			}
		}
	})
	w.must(w.s.DeleteWebhook(w.ctx, tenant, all[0].ID, record("webhook.deleted")))
	if _, err := w.s.Webhook(w.ctx, tenant, all[0].ID); domain.CodeOf(err) != domain.CodeNotFound {
		w.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

// Also those who come at once count one after the other.
func webhooksAreBounded(w *world) {
	errs := atOnce(manyWebhooks+5, func(i int) error {
		return w.replicas[i%len(w.replicas)].CreateWebhook(w.ctx, webhook(tenant), manyWebhooks, record("webhook.created"))
	})
	refused := 0
	for _, err := range errs {
		if err != nil {
			w.refused(err, domain.CodeConflict)
			refused++
		}
	}
	all := ok(w.s.Webhooks(w.ctx, tenant))(w)
	if len(all) != manyWebhooks || refused != 5 || len(w.chain(tenant)) != manyWebhooks {
		w.Errorf("%d webhooks, %d refused, %d entries", len(all), refused, len(w.chain(tenant)))
	}
}

// What is told stands in the transaction of its event, for whom it is for, and holds what may be told and nothing else.
func deliveredWithTheEvent(w *world) {
	all, some := w.hooked(webhook(tenant)), w.hooked(webhook(tenant, domain.ExecutionCompletedType, domain.ExecutionInterruptedType))
	foreign := w.hooked(webhook("another"))
	id := w.create()
	requested := event(id, domain.ApprovalRequested{
		ApprovalID: "a", Kind: domain.ApprovalToolCall, Tool: "bash", Arguments: json.RawMessage(`{"command":"secret"}`),
		Root: "r", Path: []domain.PathStep{{Execution: "r", Name: "planner", Asked: "secret"}},
		ArgumentsHash: "secret", Summary: "Run `secret`", Question: json.RawMessage(`{"message":"secret"}`), WorkingDirectory: "/secret", Reason: "secret",
	})
	w.accepted(store.Change{Execution: id, Epoch: 1, Events: []domain.Event{event(id, domain.MessageDelta{Text: "secret"}), requested}})
	w.accepted(store.Change{Execution: id, Epoch: 1, Events: []domain.Event{event(id, domain.ApprovalResolved{
		ApprovalID: "a", Status: domain.ApprovalApproved, Resolution: domain.ResolutionRetry, Reason: "secret", Answer: json.RawMessage(`"secret"`), DecidedBy: &someone,
	})}})
	w.accepted(store.Change{Execution: id, Epoch: 1, Events: []domain.Event{
		event(id, domain.StateChanged{From: domain.StatusWaiting, To: domain.StatusStreaming}),
		event(id, domain.StateChanged{From: domain.StatusStreaming, To: domain.StatusInterrupted, Reason: "secret",
			Cause: domain.CauseProvider, Code: domain.CodeModelUnreachable}),
		event(id, domain.StateChanged{From: domain.StatusInterrupted, To: domain.StatusWaiting}),
	}})
	end := ending(id, 1)
	end.Events = []domain.Event{event(id, domain.ExecutionEnded{
		Status: domain.StatusCompleted, FinishReason: domain.FinishEndTurn, Output: domain.Output{Text: "secret"}, Reason: "secret",
		Error: &domain.Failure{Message: "secret"},
	})}
	stale := end
	stale.Epoch = 7
	w.refused(w.commit(stale).Err, domain.CodeStale)
	if got := len(w.deliveries(all)); got != 3 {
		w.Fatalf("%d deliveries of three events and a refused one", got)
	}
	w.accepted(end)

	got := w.deliveries(all)
	if len(got) != 4 || len(w.deliveries(some)) != 2 || len(w.deliveries(foreign)) != 0 {
		w.Fatalf("%d, %d and %d deliveries", len(got), len(w.deliveries(some)), len(w.deliveries(foreign)))
	}
	if id := w.deliveries(some)[1].ID; id != got[3].ID {
		w.Errorf("one event is %s and %s", id, got[3].ID)
	}
	for i, want := range []domain.Notification{
		{Type: domain.ApprovalRequestedType, Timestamp: requested.Time, Data: domain.NotificationData{Execution: id, Seq: 3, Approval: "a",
			Kind: domain.ApprovalToolCall, Tool: "bash", Root: "r", Path: []domain.NamedStep{{Execution: "r", Name: "planner"}}}},
		{Type: domain.ApprovalResolvedType, Data: domain.NotificationData{Execution: id, Seq: 4, Approval: "a", Status: "approved", Resolution: domain.ResolutionRetry, DecidedBy: &someone}},
		{Type: domain.ExecutionInterruptedType, Data: domain.NotificationData{Execution: id, Seq: 6, Status: "interrupted", Cause: domain.CauseProvider,
			Code: domain.CodeModelUnreachable}},
		{Type: domain.ExecutionCompletedType, Data: domain.NotificationData{Execution: id, Seq: 8, Status: "completed", FinishReason: domain.FinishEndTurn}},
	} {
		var notice domain.Notification
		w.must(json.Unmarshal(got[i].Body, &notice))
		if want.Timestamp.IsZero() {
			want.Timestamp = notice.Timestamp
		}
		if diff := cmp.Diff(want, notice); diff != "" || bytes.Contains(got[i].Body, []byte("secret")) {
			w.Errorf("%s: %s\n%s", got[i].ID, diff, got[i].Body)
		}
		if got[i].Type != string(want.Type) || got[i].State != store.DeliveryPending || got[i].Execution != id || got[i].Begun != 0 {
			w.Errorf("%+v", got[i])
		}
	}
	w.must(w.s.Delete(w.ctx, tenant, id, record("execution.deleted")))
	if len(w.deliveries(all)) != 4 {
		w.Error("what was told is gone with its execution")
	}
}

// An attempt is claimed once, comes back when its replica has died, and a late one does not overrule the next.
func deliveriesAreClaimedOnce(w *world) {
	hook := w.hooked(webhook(tenant))
	ids := w.createMany(30)
	for _, id := range ids {
		w.accepted(ending(id, 1))
	}
	if !w.isDue(hook) {
		w.Fatal("nothing is due")
	}
	seen := map[string]int{}
	for _, claimed := range atOnce(8, func(i int) []store.Delivery { return w.claimDeliveries(w.replicas[i%2], hook, 4) }) {
		if len(claimed) > 4 {
			w.Errorf("%d where 4 were wanted", len(claimed))
		}
		for _, d := range claimed {
			seen[d.ID]++
		}
	}
	for {
		more := w.claimDeliveries(w.s, hook, 7)
		if len(more) == 0 {
			break
		}
		for _, d := range more {
			seen[d.ID]++
		}
	}
	for id, times := range seen {
		if times != 1 {
			w.Errorf("%s was claimed %d times", id, times)
		}
	}
	if len(seen) != 30 || w.isDue(hook) {
		w.Errorf("%d of 30 were claimed; due: %v", len(seen), w.isDue(hook))
	}
}

func attemptsAreKept(w *world) {
	hook := w.hooked(webhook(tenant))
	w.accepted(ending(w.create(), 1))
	_, claimed, err := w.s.ClaimDeliveries(w.ctx, hook.ID, 5, 0) // whose replica dies at once
	w.must(err)
	first := claimed[0]
	next := w.claimDeliveries(w.replicas[1], hook, 5)[0]
	if first.Begun != 1 || next.Begun != 2 || next.ID != first.ID {
		w.Fatalf("%+v, then %+v", first, next)
	}
	w.must(w.s.FinishAttempt(w.ctx, attempted(first, 500, store.DeliveryFailed, 0)))
	if d := w.deliveries(hook)[0]; d.State != store.DeliveryPending || len(d.Attempts) != 1 || w.isDue(hook) {
		w.Errorf("a late failure made %+v", d)
	}
	w.must(w.s.FinishAttempt(w.ctx, attempted(next, 503, store.DeliveryPending, 0)))
	third := w.claimDeliveries(w.s, hook, 5)[0]
	w.must(w.s.ReturnDelivery(w.ctx, third))
	third = w.claimDeliveries(w.s, hook, 5)[0]
	if third.Begun != 3 {
		w.Errorf("given back, it is attempt %d", third.Begun)
	}
	done := attempted(third, 204, store.DeliveryDelivered, 0)
	w.must(w.s.FinishAttempt(w.ctx, done))
	w.must(w.s.FinishAttempt(w.ctx, attempted(next, 500, store.DeliveryFailed, 0)))
	d := w.deliveries(hook)[0]
	if d.State != store.DeliveryDelivered || len(d.Attempts) != 3 || d.Due != nil || w.isDue(hook) {
		w.Fatalf("%+v", d)
	}
	done.Attempt.N = 3
	if diff := cmp.Diff(done.Attempt, d.Attempts[2]); diff != "" {
		w.Error(diff)
	}
	again := ok(w.s.Redeliver(w.ctx, tenant, hook.ID, d.ID, record("webhook.redelivered")))(w)
	if again.State != store.DeliveryPending || again.Before != 3 || len(again.Attempts) != 3 || !w.isDue(hook) {
		w.Errorf("redelivered: %+v", again)
	}
}

// A redelivery that is asked for while an attempt is under way is due, whatever comes of that attempt. The attempt is kept.
func redeliveryOvertakesAnAttempt(w *world) {
	hook := w.hooked(webhook(tenant))
	w.accepted(ending(w.create(), 1))
	redelivered := func(d store.Delivery) {
		w.Helper()
		_ = ok(w.s.Redeliver(w.ctx, tenant, hook.ID, d.ID, record("webhook.redelivered")))(w)
	}
	for _, state := range []store.DeliveryState{store.DeliveryPending, store.DeliveryFailed, store.DeliveryDelivered} {
		d := w.claimDeliveries(w.s, hook, 1)[0]
		redelivered(d)
		w.must(w.s.FinishAttempt(w.ctx, attempted(d, 200, state, time.Hour)))
		if got := w.deliveries(hook)[0]; got.State != store.DeliveryPending || !w.isDue(hook) || len(got.Attempts) != d.Begun {
			w.Fatalf("an attempt that is %s made of the redelivery %+v", state, got)
		}
	}
	d := w.claimDeliveries(w.s, hook, 1)[0]
	redelivered(d)
	w.must(w.s.ReturnDelivery(w.ctx, d))
	given := w.claimDeliveries(w.s, hook, 1)[0]
	redelivered(given)
	w.must(w.s.FinishAttempt(w.ctx, attempted(given, 500, store.DeliveryFailed, 0)))
	next := w.claimDeliveries(w.s, hook, 1)
	if len(next) != 1 || next[0].Begun-next[0].Before != 1 {
		w.Fatalf("given back, it is claimed as %+v", next)
	}
	w.must(w.s.FinishAttempt(w.ctx, attempted(given, 200, store.DeliveryDelivered, 0)))
	if got := w.deliveries(hook)[0]; got.State != store.DeliveryPending {
		w.Errorf("a late attempt made of the redelivery that is under way %+v", got)
	}
	w.must(w.s.FinishAttempt(w.ctx, attempted(next[0], 200, store.DeliveryDelivered, 0)))
	if got := w.deliveries(hook)[0]; got.State != store.DeliveryDelivered {
		w.Errorf("%+v", got)
	}
}

func goneIsDisabled(w *world) {
	hook := w.hooked(webhook(tenant))
	for _, id := range w.createMany(2) {
		w.accepted(ending(id, 1))
	}
	gone := attempted(w.claimDeliveries(w.s, hook, 1)[0], 410, store.DeliveryFailed, 0)
	gone.Gone = "It said that it is gone."
	w.must(w.s.FinishAttempt(w.ctx, gone))
	disabled := ok(w.s.Webhook(w.ctx, tenant, hook.ID))(w)
	if disabled.Disabled == nil || disabled.DisabledBecause != gone.Gone || w.isDue(hook) || len(w.claimDeliveries(w.s, hook, 5)) > 0 {
		w.Errorf("%+v", disabled)
	}
	w.accepted(ending(w.create(), 1))
	if all := w.deliveries(hook); len(all) != 2 || all[1].Due != nil && all[0].Due != nil {
		w.Errorf("%+v", all)
	}
	w.must(w.s.EnableWebhook(w.ctx, tenant, hook.ID, record("webhook.enabled")))
	if got := w.claimDeliveries(w.s, hook, 5); len(got) != 1 {
		w.Errorf("%d wait after it was enabled", len(got))
	}
}

func deliveriesAreForgotten(w *world) {
	hook, other := w.hooked(webhook(tenant)), w.hooked(webhook(tenant))
	w.accepted(ending(w.create(), 1))
	w.must(w.s.FinishAttempt(w.ctx, attempted(w.claimDeliveries(w.s, hook, 1)[0], 204, store.DeliveryDelivered, 0)))
	forgotten := func(age time.Duration) int {
		n := ok(w.s.ForgetDeliveries(w.ctx, age, 100))(w)
		return n
	}
	if n := forgotten(time.Hour); n != 0 {
		w.Errorf("%d young ones are gone", n)
	}
	if n := forgotten(-time.Hour); n != 1 || len(w.deliveries(hook)) != 0 || len(w.deliveries(other)) != 1 {
		w.Errorf("%d are gone; %d and %d are left", n, len(w.deliveries(hook)), len(w.deliveries(other)))
	}
	w.must(w.s.AddDelivery(w.ctx, store.Delivery{Webhook: "deleted", ID: "msg_x", Tenant: tenant, Body: json.RawMessage(`{}`)}))
	if n := forgotten(time.Hour); n != 1 {
		w.Errorf("%d of nobody are gone", n)
	}
}

func serverKeysAreShared(w *world) {
	got := atOnce(6, func(i int) []byte {
		key, err := w.replicas[i%2].ServerKey(w.ctx, "links")
		if err != nil {
			w.Error(err)
		}
		return key
	})
	other := ok(w.s.ServerKey(w.ctx, "other"))(w)
	for _, key := range got {
		if !bytes.Equal(key, got[0]) || len(key) != 32 || bytes.Equal(key, other) {
			w.Errorf("%x", key)
		}
	}
}

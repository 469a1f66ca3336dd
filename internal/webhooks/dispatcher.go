package webhooks

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const (
	perWebhook = 4  // concurrent requests to one webhook; after a failure it is one
	inFlight   = 64 // concurrent requests to all; one tenant leaves as many to the others as it uses
	pollEvery  = time.Second
	// visible is the time after which another replica sends a claimed delivery: longer than any attempt.
	visible = 2 * sendTimeout

	storeTimeout = 10 * time.Second

	forgetEvery = time.Hour
	forgetAfter = 30 * 24 * time.Hour
	forgetLimit = 1000
)

// Store is the part of the database that a dispatcher uses.
type Store interface {
	DueWebhooks(ctx context.Context) ([]store.DueWebhook, error)
	ClaimDeliveries(ctx context.Context, webhook string, limit int, visible time.Duration) (store.Webhook, []store.Delivery, error)
	FinishAttempt(ctx context.Context, a store.Attempted) error
	ReturnDelivery(ctx context.Context, d store.Delivery) error
	ForgetDeliveries(ctx context.Context, age time.Duration, limit int) (int, error)
}

var _ Store = (*store.Store)(nil)

// Config configures a dispatcher.
type Config struct {
	Targets   Targets
	Links     *Links
	Version   string
	Transport http.RoundTripper // nil: the network, as Targets allows it
}

// Dispatcher sends due deliveries. The goroutine of Run owns its state; senders only report that they are done.
type Dispatcher struct {
	store    Store
	sender   sender
	notified chan struct{}
	done     chan sent

	busy    map[store.DueWebhook]int  // requests under way
	failing map[store.DueWebhook]bool // whose newest attempt failed
	last    string                    // the webhook that had its turn last
}

// sent reports the end of an attempt.
type sent struct {
	webhook store.DueWebhook
	failed  bool
}

// NewDispatcher returns a dispatcher that sends nothing until Run is called.
func NewDispatcher(s Store, config Config) *Dispatcher {
	if config.Transport == nil {
		config.Transport = newTransport(config.Targets)
	}
	return &Dispatcher{
		store: s, sender: newSender(config.Transport, config.Links, config.Version),
		notified: make(chan struct{}, 1), done: make(chan sent, inFlight),
		busy: map[store.DueWebhook]int{}, failing: map[store.DueWebhook]bool{},
	}
}

// Notify says that something may be due. It never waits.
func (d *Dispatcher) Notify() {
	select {
	case d.notified <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends. It returns unfinished deliveries to the store, and the next dispatcher sends them.
func (d *Dispatcher) Run(ctx context.Context) {
	var senders sync.WaitGroup
	defer d.sender.client.CloseIdleConnections()
	defer senders.Wait()
	poll, forget := time.NewTicker(pollEvery), time.NewTicker(forgetEvery)
	defer poll.Stop()
	defer forget.Stop()
	for {
		d.startDue(ctx, &senders)
		select {
		case <-d.notified:
		case <-poll.C:
		case <-forget.C:
			d.forget(ctx)
		case over := <-d.done:
			d.finish(over)
		case <-ctx.Done():
			return
		}
	}
}

// startDue starts due deliveries, webhook after webhook, while there is room.
func (d *Dispatcher) startDue(ctx context.Context, senders *sync.WaitGroup) {
	if d.free() == 0 || ctx.Err() != nil {
		return
	}
	due, err := d.store.DueWebhooks(ctx)
	if err != nil && ctx.Err() == nil {
		slog.Warn("cannot read which webhooks are due", "error", err)
	}
	for _, webhook := range d.turns(due) {
		width := perWebhook
		if d.failing[webhook] {
			width = 1
		}
		room := min(d.share(webhook.Tenant), width-d.busy[webhook])
		if room <= 0 || ctx.Err() != nil {
			continue
		}
		d.last = webhook.ID
		d.begin(ctx, senders, webhook, room)
	}
}

// turns starts behind the last served webhook; otherwise the first webhooks would take all the room.
func (d *Dispatcher) turns(due []store.DueWebhook) []store.DueWebhook {
	byID := func(w store.DueWebhook, id string) int { return strings.Compare(w.ID, id) }
	slices.SortFunc(due, func(a, b store.DueWebhook) int { return byID(a, b.ID) })
	first, _ := slices.BinarySearchFunc(due, d.last+"\x00", byID)
	return append(due[first:len(due):len(due)], due[:first]...)
}

func (d *Dispatcher) free() int {
	taken := 0
	for _, n := range d.busy {
		taken += n
	}
	return inFlight - taken
}

// share returns how many more requests a tenant may start, until it uses as many as it leaves free. Otherwise a tenant with slow targets
// would use all of them, and other tenants would wait. One such tenant gets half, two get a third each, and so on, so some stay free.
func (d *Dispatcher) share(tenant domain.TenantID) int {
	own := 0
	for webhook, n := range d.busy {
		if webhook.Tenant == tenant {
			own += n
		}
	}
	return (d.free() - own + 1) / 2
}

func (d *Dispatcher) begin(ctx context.Context, senders *sync.WaitGroup, webhook store.DueWebhook, limit int) {
	hook, claimed, err := d.store.ClaimDeliveries(ctx, webhook.ID, limit, visible)
	if err != nil {
		if ctx.Err() == nil {
			slog.Warn("cannot claim deliveries", "webhook", webhook.ID, "error", err)
		}
		return
	}
	for _, delivery := range claimed {
		d.busy[webhook]++
		senders.Go(func() { d.done <- sent{webhook, d.attempt(ctx, hook, delivery)} })
	}
}

func (d *Dispatcher) finish(s sent) {
	if d.busy[s.webhook]--; d.busy[s.webhook] == 0 {
		delete(d.busy, s.webhook)
	}
	if delete(d.failing, s.webhook); s.failed {
		d.failing[s.webhook] = true
	}
}

// attempt makes one attempt and stores its result, even if the server stops meanwhile. If that fails, the delivery is sent again.
func (d *Dispatcher) attempt(ctx context.Context, hook store.Webhook, delivery store.Delivery) (failed bool) {
	result, err := d.sender.send(ctx, hook, delivery)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err != nil {
		err = d.store.ReturnDelivery(ctx, delivery)
	} else {
		err = d.store.FinishAttempt(ctx, result)
	}
	if err != nil {
		slog.Warn("cannot store the result of a delivery; it is sent again", "webhook", hook.ID, "delivery", delivery.ID, "error", err)
	}
	return result.State != store.DeliveryDelivered
}

func (d *Dispatcher) forget(ctx context.Context) {
	for {
		gone, err := d.store.ForgetDeliveries(ctx, forgetAfter, forgetLimit)
		if err != nil && ctx.Err() == nil {
			slog.Warn("cannot forget old deliveries", "error", err)
		}
		if gone < forgetLimit {
			return
		}
	}
}

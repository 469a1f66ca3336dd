package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"signoff/internal/domain"
	"signoff/internal/store"
)

const (
	sendTimeout    = 15 * time.Second
	maxAnswer      = 4 << 10 // read, so that the connection can be used again, and thrown away
	maxHeaderBytes = 32 << 10
	idleTimeout    = 30 * time.Second
)

// newTransport connects to allowed targets. It uses no proxy: a proxy would resolve the name, and the address could not be checked.
func newTransport(targets Targets) *http.Transport {
	return &http.Transport{
		DialContext: targets.dial, TLSHandshakeTimeout: sendTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost: perWebhook, IdleConnTimeout: idleTimeout,
	}
}

// sender sends deliveries.
type sender struct {
	client *http.Client
	links  *Links
	agent  string
}

func newSender(transport http.RoundTripper, links *Links, version string) sender {
	return sender{
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		links:  links, agent: "Signoff/" + version,
	}
}

// send makes one attempt and returns its result. An error means that ctx has ended and there is no result.
func (s sender) send(ctx context.Context, hook store.Webhook, d store.Delivery) (store.Attempted, error) {
	began := time.Now()
	status, retryAfter, err := s.post(ctx, hook, d, began)
	if ctx.Err() != nil {
		return store.Attempted{}, context.Cause(ctx)
	}
	done := store.Attempted{Delivery: d, State: store.DeliveryDelivered, Attempt: store.Attempt{
		Time: began.UTC(), Status: status, Error: complaint(status, err), Duration: time.Since(began),
	}}
	switch {
	case err == nil && status >= 200 && status <= 299:
		return done, nil
	case status == http.StatusGone:
		done.State, done.Gone = store.DeliveryFailed, "The target answered 410 Gone."
		return done, nil
	}
	wait, more := next(d.Begun-d.Before, retryAfter)
	done.State, done.Wait = store.DeliveryFailed, wait
	if more {
		done.State = store.DeliveryPending
	}
	return done, nil
}

func (s sender) post(ctx context.Context, hook store.Webhook, d store.Delivery, now time.Time) (status int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	body := s.body(hook, d)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"}, "User-Agent": {s.agent}, "Webhook-Id": {d.ID},
		"Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {sign([]string{hook.Secret, hook.Previous}, d.ID, now, body)},
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer) // only the status counts
	return response.StatusCode, retryAfter(response.Header, now), nil
}

// body returns the stored body, with a link if the webhook has links. The link is the same in each attempt, because all attempts are one
// message for the receiver.
func (s sender) body(hook store.Webhook, d store.Delivery) []byte {
	var notice domain.Notification
	if !hook.Links || !s.links.Public() || d.Type != string(domain.ApprovalRequestedType) || json.Unmarshal(d.Body, &notice) != nil {
		return d.Body
	}
	notice.Data.Link = s.links.URL(Grant{
		Approval: notice.Data.Approval, Tenant: d.Tenant, Expires: linkExpiry(notice.Data.Expires, d.Created),
		For: cmp.Or(hook.Description, "webhook "+hook.ID), Webhook: hook.ID,
	})
	return domain.Encode(notice)
}

// complaint explains why an attempt failed. It leaves out the text of network errors, which name addresses and the URL, which may hold a
// key.
func complaint(status int, err error) string {
	var (
		refusal     *domain.Error
		unknownHost *net.DNSError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case err == nil && status >= 200 && status <= 299:
		return ""
	case err == nil && status >= 300 && status <= 399:
		return "The target answered with a redirect, which is not followed. Create the webhook with the address that it leads to."
	case err == nil:
		return "The target answered " + strconv.Itoa(status) + "."
	case errors.As(err, &refusal):
		return refusal.Message
	case errors.Is(err, context.DeadlineExceeded):
		return "The target took more than " + strconv.Itoa(int(sendTimeout.Seconds())) + " seconds."
	case errors.As(err, &unknownHost):
		return "The name of the host could not be resolved."
	case errors.As(err, &certificate):
		return "The certificate of the host is not valid."
	default:
		return "The target could not be reached, or did not answer as HTTP wants it."
	}
}

package tools

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"signoff/internal/domain"
	"signoff/internal/egress"
)

const (
	webTimeout       = 30 * time.Second
	maxRedirects     = 5
	maxHeaderBytes   = 64 << 10
	handshakeTimeout = 10 * time.Second
)

// webClient speaks to the one host of the dialer and to no other. It has no cookies and no proxy: a proxy would resolve the name, and
// nobody could see anymore whether it leads into the private network.
func webClient(dialer egress.Dialer) *http.Client {
	return &http.Client{
		CheckRedirect: sameHost,
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    handshakeTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			DisableKeepAlives:      true, // one call, one connection: nothing is left behind
		},
	}
}

// sameHost follows a redirect that stays where a person, or the policy, let the model go to. Another host would be another
// question, so the model gets the new URL and may ask.
func sameHost(request *http.Request, via []*http.Request) error {
	from, to := via[len(via)-1].URL, request.URL
	sameOrigin := from.Scheme == to.Scheme && strings.EqualFold(from.Host, to.Host)
	plain := *to
	plain.User = nil
	target := code(plain.String())
	switch {
	case len(via) > maxRedirects:
		return domain.Errorf(domain.CodeToolFailed, "There were more than %d redirects; the last one was to %s.", maxRedirects, target)
	case to.User != nil || !sameOrigin && !upgrades(from, to):
		return domain.Errorf(domain.CodeToolFailed,
			"This is a redirect to %s, which was not followed. Fetch that URL, if it is what you want.", target)
	}
	return nil
}

// upgrades reports whether a redirect is the usual one from http to https.
func upgrades(from, to *url.URL) bool {
	return from.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(from.Hostname(), to.Hostname()) &&
		(from.Port() == "" || from.Port() == "80") && (to.Port() == "" || to.Port() == "443")
}

// webError is the error for a model. It omits the text of the network error, which names addresses, and the
// URL that was asked for, which may hold a key.
func webError(ctx context.Context, err error) error {
	var (
		coded       *domain.Error
		unknownHost *net.DNSError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.Is(ctx.Err(), context.Canceled):
		return domain.Errorf(domain.CodeCancelled, "The request was cancelled.").With(err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return domain.Errorf(domain.CodeToolFailed, "The host took more than %d seconds.", int(webTimeout.Seconds())).With(err)
	case errors.As(err, &unknownHost):
		return domain.Errorf(domain.CodeToolFailed, "The name of the host could not be resolved.").With(err)
	case errors.As(err, &certificate):
		return domain.Errorf(domain.CodeToolFailed, "The certificate of the host is not valid.").With(err)
	default:
		return domain.Errorf(domain.CodeToolFailed, "The host could not be reached, or did not answer as HTTP wants it.").With(err)
	}
}

// readBody reads up to limit bytes, counted after decompression, and reports whether that is all.
func readBody(ctx context.Context, response *http.Response, limit int) (body []byte, whole bool, err error) {
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" {
		return nil, false, domain.Errorf(domain.CodeToolFailed, "The host sent a compression that it was not asked for.")
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, int64(limit)+1))
	if err != nil {
		return nil, false, webError(ctx, err)
	}
	if len(body) > limit {
		return body[:limit], false, nil
	}
	return body, true, nil
}

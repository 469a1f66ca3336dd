package llm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"signoff/internal/domain"
	"signoff/internal/tools/hosttest"
)

// away is a vendor that answers 503 for so long, and then well.
func away(outage time.Duration) reply {
	began := time.Now()
	return func(request *http.Request) (*http.Response, error) {
		if time.Since(began) < outage {
			return answers(503, nil, "")(request)
		}
		return saysOnly("ok")(request)
	}
}

// TestAnOutageIsOutlasted, whatever its length below that of the request's patience; and it is no longer than a minute until the answer.
func TestAnOutageIsOutlasted(t *testing.T) {
	for _, outage := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, 40 * time.Second, 10 * time.Minute, 50 * time.Minute} {
		t.Run(outage.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host, began := &hosttest.Host{}, time.Now()
				_, err := open(t, config(&vendor{replies: []reply{away(outage)}}), execution()).Prompt(t.Context(), host, prompt("Go"))
				want(t, "error", err, nil)
				want(t, "text", host.Text(), "ok")
				if late := time.Since(began) - outage; late > time.Minute {
					t.Errorf("the answer came %s after the provider was back", late)
				}
			})
		})
	}
}

// TestForSeconds bounds the time, and 0 the number of attempts to one.
func TestForSeconds(t *testing.T) {
	for _, seconds := range []int{0, 1, 20, 7200} {
		synctest.Test(t, func(t *testing.T) {
			e := execution()
			e.Request.Retry = &domain.Retry{ForSeconds: seconds}
			v, began := &vendor{replies: []reply{answers(503, nil, "")}}, time.Now()
			_, err := open(t, config(v), e).Prompt(t.Context(), &hosttest.Host{}, prompt("Go"))
			if !errors.Is(err, domain.ErrProviderUnavailable) {
				t.Errorf("%v", err)
			}
			if took := time.Since(began); took.Round(time.Millisecond) != time.Duration(seconds)*time.Second {
				t.Errorf("gave up after %s, want %d s", took, seconds)
			}
			if n := len(v.requests()); (n == 1) != (seconds == 0) {
				t.Errorf("%d attempts in %d s", n, seconds)
			}
		})
	}
}

// TestAWaitThatIsTooLongIsNotBegun: a provider that is asked before the time that it names would only turn the request away.
func TestAWaitThatIsTooLongIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, began := &vendor{replies: []reply{answers(429, http.Header{"Retry-After": {"1e300"}}, "")}}, time.Now()
		host := &hosttest.Host{}
		_, err := open(t, config(v), execution()).Prompt(t.Context(), host, prompt("Go"))
		if !errors.Is(err, domain.ErrProviderUnavailable) || !strings.Contains(domain.FailureOf(err).Message, "left alone for 720h0m0s") {
			t.Errorf("%v", err)
		}
		want(t, "attempts", len(v.requests()), 1)
		want(t, "waited", time.Since(began), 0)
	})
	synctest.Test(t, func(t *testing.T) {
		m := market{"first": {replies: []reply{answers(429, http.Header{"Retry-After": {"3600"}}, "")}}, "second": {replies: []reply{saysOnly("ok")}}}
		began := time.Now()
		_, err := open(t, m.config(), fallbackTo("second")).Prompt(t.Context(), &hosttest.Host{}, prompt("Go"))
		want(t, "error", err, nil)
		want(t, "waited for the first", time.Since(began), 0)
	})
}

// TestARepetitionGoesOnInAnotherProcess: at its time and not earlier, with the model that it was about, and for as long as is left.
func TestARepetitionGoesOnInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := market{"first": {replies: []reply{answers(503, nil, "")}}, "second": {replies: []reply{answers(503, nil, "")}}}
		ctx, kill := context.WithCancel(t.Context())
		host := &hosttest.Host{}
		host.Refuse = func(payload domain.Payload) error {
			if told, ok := payload.(domain.ModelRetrying); ok && told.Model == "second" && told.Attempt == 9 {
				kill()
			}
			return nil
		}
		if _, err := open(t, m.config(), fallbackTo("second")).Prompt(ctx, host, prompt("Go")); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		told := hosttest.Of[domain.ModelRetrying](host)
		newest := told[len(told)-1]
		var tries int
		var first time.Time
		m["second"].replies = []reply{func(request *http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				first = time.Now()
			}
			return answers(503, nil, "")(request)
		}}
		asked := len(m["first"].requests())

		again := prompt("Go")
		again.Retrying = &domain.Retrying{ModelRetrying: newest, Switched: hosttest.Of[domain.ModelSwitched](host)}
		host = &hosttest.Host{}
		_, err := open(t, m.config(), fallbackTo("second")).Prompt(t.Context(), host, again)
		if !errors.Is(err, domain.ErrProviderUnavailable) || !strings.Contains(domain.FailureOf(err).Message, "None of 2 models could answer") {
			t.Errorf("%v", err)
		}
		want(t, "requests of the first", len(m["first"].requests()), asked)
		if !first.Equal(newest.At) {
			t.Errorf("asked at %s, announced for %s", first, newest.At)
		}
		if now := time.Now().Round(time.Millisecond); !now.Equal(newest.Until.Round(time.Millisecond)) {
			t.Errorf("gave up at %s, want %s", now, newest.Until)
		}
		if told := hosttest.Of[domain.ModelRetrying](host); told[0].Attempt != 10 || told[0].Model != "second" {
			t.Errorf("%+v", told[0])
		}
	})
}

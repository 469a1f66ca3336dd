//go:build linux

package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// outage is a time in which the provider of the model serves nobody.
type outage struct {
	lasts time.Duration
	how   absence
}

// absence is how a provider that is down answers.
type absence string

const (
	hangsUp  absence = "hangs up" // also on the answers that are under way
	busy     absence = "503"
	tooOften absence = "429 with Retry-After" // to the end of the outage
)

// absent is a provider that is away. It turns requests away until the outage is over.
type absent struct {
	outage
	until      time.Time
	turnedAway atomic.Int64
}

// turnAway answers a request as the absence has it.
func (a *absent) turnAway(w http.ResponseWriter) {
	a.turnedAway.Add(1)
	switch a.how {
	case hangsUp:
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
	case tooOften:
		w.Header().Set("Retry-After", fmt.Sprint(1+int(time.Until(a.until)/time.Second)))
		http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
	default:
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
	}
}

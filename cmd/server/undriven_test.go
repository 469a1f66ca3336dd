package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestWhatNobodyDrivesIsCountedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts, failure := 0, error(nil)
		registry := prometheus.NewRegistry()
		registry.MustRegister(newUndriven(func(context.Context) (int, int, error) {
			counts++
			return counts, 10 * counts, failure
		}))
		scraped := func(want map[string]float64) {
			t.Helper()
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]float64{}
			for _, family := range families {
				got[family.GetName()] = family.GetMetric()[0].GetGauge().GetValue()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		scraped(map[string]float64{"signoff_executions_queued": 1, "signoff_executions_parked": 10})
		time.Sleep(countEvery - time.Second)
		scraped(map[string]float64{"signoff_executions_queued": 1, "signoff_executions_parked": 10})
		time.Sleep(time.Second)
		scraped(map[string]float64{"signoff_executions_queued": 2, "signoff_executions_parked": 20})
		failure = errors.New("away")
		time.Sleep(countEvery)
		scraped(map[string]float64{}) // a number from long ago would be taken for today's
	})
}

package domain_test

import (
	"math"
	"testing"
	"time"

	"signoff/internal/domain"
)

func TestResetAt(t *testing.T) {
	now := time.Date(2026, 7, 1, 8, 0, 0, 0, time.UTC)
	soon := now.Add(90 * time.Second)
	for _, number := range []float64{90, float64(soon.Unix()), float64(soon.UnixMilli())} {
		if at := domain.ResetAt(number, now); at == nil || !at.Equal(soon) {
			t.Errorf("%v is %v", number, at)
		}
	}
	for _, number := range []float64{-1, math.NaN(), math.Inf(1), 9e8, 1e13, 1.1e9} { // the last is a day of 2004
		if at := domain.ResetAt(number, now); at != nil {
			t.Errorf("%v is %v", number, at)
		}
	}
}

func TestUsedPercent(t *testing.T) {
	if p := domain.UsedPercent(12.345); p == nil || *p != 12.3 {
		t.Errorf("%v", p)
	}
	for _, percent := range []float64{-1, math.NaN(), 1001} {
		if p := domain.UsedPercent(percent); p != nil {
			t.Errorf("%v is %v", percent, *p)
		}
	}
}

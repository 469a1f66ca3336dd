package main

import (
	"cmp"
	"math"
	"slices"
)

// quantile is the value below which the share q of all lies. The values are not changed.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// finding is the middle of what the rounds found, and how far they lie apart.
type finding struct {
	median      float64
	spread      float64 // from the first quartile to the third
	least, most float64
	rounds      int
}

func found(values []float64) finding {
	if len(values) == 0 {
		return finding{median: math.NaN(), least: math.NaN(), most: math.NaN()}
	}
	return finding{median: between(values, 0.5), spread: between(values, 0.75) - between(values, 0.25),
		least: slices.Min(values), most: slices.Max(values), rounds: len(values)}
}

// between is a quantile that lies between two values where it falls between them: of five rounds or nine a quarter is no whole number.
func between(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

package acp

import (
	"maps"
	"slices"

	"signoff/internal/acp/wire"
)

func sortedNames(o wire.Object) []string { return slices.Sorted(maps.Keys(o)) }

package schema

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"signoff/internal/domain"
)

// TestAnUnknownErrorFitsNothing: the validator has no such error today.
func TestAnUnknownErrorFitsNothing(t *testing.T) {
	want := []domain.Detail{{Message: "this cannot be checked against its schema"}}
	if diff := cmp.Diff(want, verdict(errors.New("new in the next version"))); diff != "" {
		t.Error(diff)
	}
	if details := verdict(nil); details != nil {
		t.Error(details)
	}
}

package admission

import "signoff/internal/domain"

// faults collects what is wrong with a body.
type faults []domain.Detail

func (f *faults) add(pointer, message string) {
	*f = append(*f, domain.Detail{Pointer: pointer, Message: message})
}

func (f faults) error() error { return domain.InvalidParts(f...) }

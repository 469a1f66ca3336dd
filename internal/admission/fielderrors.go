package admission

import "signoff/internal/domain"

// fieldErrors collects the errors of a body.
type fieldErrors []domain.Detail

func (f *fieldErrors) add(pointer, message string) {
	*f = append(*f, domain.Detail{Pointer: pointer, Message: message})
}

// sentFields says which fields of a body were sent.
type sentFields []struct {
	pointer string
	sent    bool
}

// refuse adds an error for each field that was sent.
func (f *fieldErrors) refuse(message string, fields sentFields) {
	for _, field := range fields {
		if field.sent {
			f.add(field.pointer, message)
		}
	}
}

func (f fieldErrors) error() error { return domain.InvalidParts(f...) }

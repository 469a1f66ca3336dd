package secrets

// Mask returns text without secrets. It does not change text; where nothing is found, it returns text itself.
func (m *Masker) Mask(text []byte) []byte {
	w := walk{masker: m.known(), text: text}
	w.scan(true)
	if w.to == 0 && len(w.out) == 0 {
		return text
	}
	w.settle()
	return w.out
}

// MaskString is Mask for strings.
func (m *Masker) MaskString(text string) string {
	masked := m.Mask([]byte(text))
	if len(masked) == len(text) && string(masked) == text {
		return text
	}
	return string(masked)
}

package wire

// Write sends what the SDK writes: one whole message at a time.
func (g *flowControl) Write(message []byte) (int, error) {
	head := headOf(message)
	if head.id != nil && head.method != nil { // a call
		g.enter(head.id)
	}
	err := g.send(message)
	if head.method == nil { // an answer; its id may be longer than what a head keeps
		g.mu.Lock()
		g.open--
		g.mu.Unlock()
	}
	if err != nil {
		return 0, err
	}
	return len(message), nil
}

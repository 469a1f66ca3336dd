package wire

import (
	"context"
	"encoding/json"
)

// Handler takes what the agent sends by itself.
type Handler interface {
	// Notification is called for one notification after the other, in the order of the wire. While it runs the next ones
	// wait, and behind notificationLimit of them the agent does. It must return: the end of the connection waits for it.
	// A call that is made inside it cannot return before it does.
	Notification(method string, params json.RawMessage)

	// TextChunk is Notification for a notification that is a plain chunk of text. Its place among the others is the one on the
	// wire. While it runs nothing is read.
	TextChunk(chunk TextChunk)

	// Request answers one request, in a goroutine of its own, after all notifications that came before it are handled.
	// The context ends when the agent withdraws the request and when the connection ends. An error that is a
	// *acp.RequestError goes out as it is; of any other one the agent learns only that there was one.
	Request(ctx context.Context, method string, params json.RawMessage) (any, error)

	// ProtocolError is called for a line that was no message, as soon as it was read. Nothing is read until it returns.
	ProtocolError(d ProtocolError)
}

// Direction is where a message goes.
type Direction string

// Directions of messages.
const (
	ToAgent   Direction = "toAgent"
	FromAgent Direction = "fromAgent"
)

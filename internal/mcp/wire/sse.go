package wire

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// sse is the connection of the SSE transport, with the requests shown to their exchanges.
type sse struct {
	sdk.Connection
	watched watched
}

// Read implements [sdk.Connection].
func (s *sse) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := s.Connection.Read(ctx)
	if err == nil {
		s.watched.arrived(message)
	}
	return message, err
}

// Write implements [sdk.Connection].
func (s *sse) Write(ctx context.Context, message jsonrpc.Message) error {
	s.watched.departs(ctx, message)
	return s.Connection.Write(ctx, message)
}

// NewSSE returns the HTTP+SSE transport of the revision 2024-11-05. The context that it is connected with is that of its stream.
func NewSSE(address string, client *http.Client) sdk.Transport {
	return &sseTransport{sdk.SSEClientTransport{Endpoint: address, HTTPClient: client, MaxEventSize: MaxAnswerBytes}}
}

type sseTransport struct{ sdk.SSEClientTransport }

// Connect implements [sdk.Transport].
func (t *sseTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	connection, err := t.SSEClientTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &sse{Connection: connection}, nil
}

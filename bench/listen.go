package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// farewell is how long answers that are under way have to notice that the program ends. All of them watch their context, so
// it runs out only where a client has stopped reading.
const farewell = time.Second

// listenAndServe serves at a port that the system picks, and says on stdout where, until ctx ends. Answers are streams and take as
// long as they take, so nothing here has a timeout but the head of a request.
func listenAndServe(ctx context.Context, stdout io.Writer, handler http.Handler) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(stdout, "http://%s\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	shutDown(server)
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func shutDown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // the listener is closed already; what is left are connections
	}
}

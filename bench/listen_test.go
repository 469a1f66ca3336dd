package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
)

// startPart starts a part in this process and returns where it serves. It ends with the test, and the test waits for that.
func startPart(t *testing.T, serve func(ctx context.Context, stdout io.Writer) error) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	said, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := serve(ctx, stdout)
		stdout.CloseWithError(io.ErrUnexpectedEOF)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the part ends with %v", err)
		}
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// startFloor starts a floor in front of a model.
func startFloor(t *testing.T, serve func(ctx context.Context, stdout io.Writer, modelURL string) error) (url, modelURL string) {
	t.Helper()
	modelURL = startPart(t, serveModel)
	return startPart(t, func(ctx context.Context, stdout io.Writer) error { return serve(ctx, stdout, modelURL) }), modelURL
}

package tools

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"

	"signoff/internal/domain"
)

// picturesAtOnce bounds the memory of pictures that are read: a model may ask for many at once, and each has up to 20 MB.
var picturesAtOnce = make(chan struct{}, 4)

// isPicture reports whether the file begins as a picture does.
func isPicture(file *bufio.Reader) bool {
	beginning, _ := file.Peek(sniffBytes) // whoever reads on gets the error
	mediaType, err := domain.MediaTypeOf("", beginning)
	return err == nil && domain.IsPicture(mediaType)
}

// readPicture stores the picture, so that the model is shown it as it is now.
func readPicture(ctx context.Context, host domain.Host, name string, file io.Reader) (Result, error) {
	select {
	case picturesAtOnce <- struct{}{}:
		defer func() { <-picturesAtOnce }()
	case <-ctx.Done():
		return Result{}, domain.Errorf(domain.CodeCancelled, "The reading was cancelled.").With(ctx.Err())
	}
	var content bytes.Buffer
	switch n, err := content.ReadFrom(io.LimitReader(file, domain.MaxFileSize+1)); {
	case err != nil:
		return Result{}, unreadable(err)
	case n > domain.MaxFileSize:
		return Result{}, domain.Errorf(domain.CodePayloadTooLarge, "A picture can be read if it has at most %d bytes; this one has more.", domain.MaxFileSize)
	}
	stored, err := host.SaveFile(ctx, path.Base(name), content.Bytes())
	if err != nil {
		return Result{}, err
	}
	part, err := domain.PromptPart{Type: domain.PartImage}.Stored("", stored)
	if err != nil {
		return Result{}, err
	}
	return Result{Output: fmt.Sprintf("A picture: %s, %d bytes.", stored.MediaType, stored.Size), Files: []domain.PromptPart{part}}, nil
}

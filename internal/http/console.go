package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
)

const typeHTML = "text/html"

type getIndex struct {
	IfNoneMatch string `header:"If-None-Match"`
}

// getIndex answers a program with JSON and a person with the console.
func (s *Server) getIndex(ctx context.Context, request getIndex) (responder, error) {
	if negotiate(infoOf(ctx).accept, typeJSON, typeHTML) == typeHTML {
		return responderFunc(s.console.Page(request.IfNoneMatch).Send), nil
	}
	index := api.Index{Service: api.IndexServiceSignoff, Version: s.version, Document: "/openapi.yaml"}
	return okJSON(index).with("Vary", "Accept"), nil
}

type getConsoleFile struct {
	Release     string `path:"release"`
	File        string `path:"file"`
	IfNoneMatch string `header:"If-None-Match"`
}

// getConsoleFile serves a file of the console.
func (s *Server) getConsoleFile(_ context.Context, request getConsoleFile) (responder, error) {
	file, known := s.console.File(request.Release, request.File, request.IfNoneMatch)
	if !known {
		return nil, domain.Errorf(domain.CodeNotFound, "The console has no such file.")
	}
	return responderFunc(file.Send), nil
}

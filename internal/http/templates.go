package http

import (
	"context"

	"signoff/api"
)

type renderTemplate struct {
	Body api.RenderTemplate
}

// renderTemplate renders a template with the variables of the request.
func (s *Server) renderTemplate(ctx context.Context, request renderTemplate) (responder, error) {
	rendered, err := s.admission.RenderTemplate(ctx, principalOf(ctx), request.Body)
	return okJSON(rendered), err
}

package http

import (
	"context"

	"signoff/api"
)

type renderTemplate struct {
	Body api.RenderTemplate
}

// renderTemplate shows what would become of a template.
func (s *Server) renderTemplate(ctx context.Context, request renderTemplate) (responder, error) {
	shown, err := s.admission.RenderTemplate(ctx, who(ctx), request.Body)
	return okJSON(shown), err
}

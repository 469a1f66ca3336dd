package http

import (
	"context"

	"signoff/api"
	"signoff/internal/domain"
)

var errPending = domain.Errorf(domain.CodeNotFound, "There is no such route.")

func (s *Server) AcceptGeneration(context.Context, api.AcceptGenerationRequestObject) (api.AcceptGenerationResponseObject, error) {
	return nil, errPending
}

func (s *Server) EditGeneration(context.Context, api.EditGenerationRequestObject) (api.EditGenerationResponseObject, error) {
	return nil, errPending
}

func (s *Server) GetGeneration(context.Context, api.GetGenerationRequestObject) (api.GetGenerationResponseObject, error) {
	return nil, errPending
}

func (s *Server) ListItems(context.Context, api.ListItemsRequestObject) (api.ListItemsResponseObject, error) {
	return nil, errPending
}

func (s *Server) AnswerToolCall(context.Context, api.AnswerToolCallRequestObject) (api.AnswerToolCallResponseObject, error) {
	return nil, errPending
}

func (s *Server) GetSettings(context.Context, api.GetSettingsRequestObject) (api.GetSettingsResponseObject, error) {
	return nil, errPending
}

func (s *Server) RenderTemplate(context.Context, api.RenderTemplateRequestObject) (api.RenderTemplateResponseObject, error) {
	return nil, errPending
}

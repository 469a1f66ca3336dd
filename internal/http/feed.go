package http

import (
	"context"

	"signoff/api"
)

// FollowEvents follows the events of all executions.
func (s *Server) FollowEvents(context.Context, api.FollowEventsRequestObject) (api.FollowEventsResponseObject, error) {
	return nil, errPending
}

package http

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"signoff/internal/domain"
	"signoff/internal/http/contract"
)

// table lists the operations of the document, each with the method that answers it. The type of the method's request says where
// path, query, headers and body go; see the package contract.
func (s *Server) table() []binding {
	return []binding{
		on("GET /", s.getIndex), // console.go
		on("GET /console/{release}/{file}", s.getConsoleFile),

		on("GET /healthz", s.getHealth), // operations.go
		on("GET /readyz", s.getReadiness),
		on("GET /metrics", s.getMetrics),
		on("GET /openapi.yaml", s.getDocument),

		on("GET /agents", s.listAgents), // registry.go
		on("GET /agents/{name}", s.getAgent),
		on("GET /models", s.listModels),
		on("GET /tools", s.listTools),
		on("GET /settings", s.getSettings), // defaults.go

		on("POST /executions", s.createExecution), // executions.go
		on("GET /executions", s.listExecutions),
		on("GET /executions/{id}", s.getExecution),
		on("DELETE /executions/{id}", s.deleteExecution),
		on("POST /executions/{id}/cancel", s.cancelExecution),
		on("POST /executions/{id}/close", s.closeExecution),
		on("POST /executions/{id}/resume", s.resumeExecution),
		on("POST /executions/{id}/prompts", s.promptExecution),            // prompts.go
		on("POST /executions/{id}/tool-results", s.answerToolCall),        // clientcalls.go
		on("GET /executions/{id}/generation", s.getGeneration),            // generations.go
		on("POST /executions/{id}/generation/edits", s.editGeneration),    // generations.go
		on("POST /executions/{id}/generation/accept", s.acceptGeneration), // generations.go
		on("GET /executions/{id}/approvals", s.listExecutionApprovals),    // approvals.go
		on("GET /executions/{id}/events", s.listEvents),                   // events.go
		on("GET /executions/{id}/items", s.listItems),                     // items.go
		on("GET /executions/{id}/debug", s.listDebugMessages),             // debug.go
		on("GET /executions/{id}/export", s.exportExecution),              // export.go
		on("GET /events", s.followEvents),                                 // feed.go

		on("GET /approvals", s.listApprovals), // approvals.go
		on("GET /approvals/{id}", s.getApproval),
		on("POST /approvals/{id}", s.decideApproval),
		on("POST /approvals/{id}/links", s.createApprovalLink), // links.go
		on("GET /approve/{token}", s.showApprovalPage),
		on("POST /approve/{token}", s.decideByLink),

		on("GET /permission-rules", s.listPermissionRules), // rules.go
		on("POST /permission-rules", s.createPermissionRule),
		on("GET /permission-rules/{id}", s.getPermissionRule),
		on("DELETE /permission-rules/{id}", s.revokePermissionRule),
		on("POST /policy/evaluate", s.evaluatePolicy),

		on("GET /audit", s.listAudit),                  // audit.go
		on("GET /memory/{scope}", s.getMemory),         // memory.go
		on("PUT /memory/{scope}", s.putMemory),         // memory.go
		on("POST /templates/render", s.renderTemplate), // templates.go

		on("GET /webhooks", s.listWebhooks), // webhooks.go
		on("POST /webhooks", s.createWebhook),
		on("GET /webhooks/{id}", s.getWebhook),
		on("DELETE /webhooks/{id}", s.deleteWebhook),
		on("POST /webhooks/{id}/enable", s.enableWebhook),
		on("POST /webhooks/{id}/rotate-secret", s.rotateWebhookSecret),
		on("POST /webhooks/{id}/test", s.testWebhook),
		on("GET /webhooks/{id}/deliveries", s.listWebhookDeliveries),
		on("POST /webhooks/{id}/deliveries/{deliveryId}/redeliver", s.redeliver),
	}
}

// binding is an operation and what makes its handler.
type binding struct {
	route   string // "METHOD /pattern"
	handler func(s *Server, o *contract.Operation) (http.HandlerFunc, error)
}

// on binds an operation to the method that answers it. In the handler the sender is asked for first, so that nobody without a key learns
// anything about the input.
func on[Request any](route string, answer func(context.Context, Request) (responder, error)) binding {
	return binding{route, func(s *Server, o *contract.Operation) (http.HandlerFunc, error) {
		reader, err := contract.NewReader[Request](o)
		if err != nil {
			return nil, err
		}
		return s.answering(func(w http.ResponseWriter, r *http.Request) (responder, error) {
			if err := s.authorize(w, r, o); err != nil {
				return nil, err
			}
			request, err := reader.Parameters(r)
			if err != nil {
				return nil, err
			}
			if err := s.plainKey(r); err != nil {
				return nil, err
			}
			if err := reader.Body(w, r, &request); err != nil {
				return nil, err
			}
			return answer(r.Context(), request)
		}), nil
	}}
}

func (s *Server) answering(answer func(w http.ResponseWriter, r *http.Request) (responder, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		response, err := answer(w, r)
		if err == nil {
			err = response.respond(w)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	}
}

// routes is the way of a request.
func (s *Server) routes() (chi.Router, error) {
	router := chi.NewRouter()
	router.Use(s.observe, takeHead, s.guard)
	router.NotFound(func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, domain.Errorf(domain.CodeNotFound, "There is no such route."))
	})
	router.MethodNotAllowed(s.methodNotAllowed)
	for _, bound := range s.table() {
		operation, known := s.document[bound.route]
		if !known {
			return nil, fmt.Errorf("http: %s is not in the document", bound.route)
		}
		handler, err := bound.handler(s, operation)
		if err != nil {
			return nil, fmt.Errorf("http: %s: %w", bound.route, err)
		}
		method, pattern, _ := strings.Cut(bound.route, " ")
		router.Method(method, pattern, handler)
	}
	return router, nil
}

func (s *Server) methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{"DELETE", "GET", "POST", "PUT"} {
		if s.router.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allowed = append(allowed, method)
			if method == http.MethodGet {
				allowed = append(allowed, http.MethodHead)
			}
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	s.fail(w, r, domain.Errorf(domain.CodeMethodNotAllowed, "This route takes %s.", strings.Join(allowed, ", ")))
}

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

		on("GET /agents", s.registry.listAgents), // registry.go
		on("GET /agents/{name}", s.registry.getAgent),
		on("GET /models", s.registry.listModels),
		on("GET /tools", s.registry.listTools),
		on("GET /environments", s.registry.listEnvironments),
		on("GET /mcp-servers", s.registry.listMCPServers), // mcpservers.go
		on("GET /mcp-servers/{name}", s.registry.getMCPServer),
		on("POST /mcp-servers/{name}/prompts/{prompt}", s.registry.renderMCPPrompt),
		on("GET /agent-profiles", s.profiles.list), // profiles.go
		on("POST /agent-profiles", s.profiles.create),
		on("GET /agent-profiles/{name}", s.profiles.get),
		on("PUT /agent-profiles/{name}", s.profiles.replace),
		on("DELETE /agent-profiles/{name}", s.profiles.delete),
		on("GET /settings", s.registry.getSettings), // registry.go

		on("POST /executions", s.createExecution), // executions.go
		on("GET /executions", s.listExecutions),
		on("GET /executions/{id}", s.getExecution),
		on("DELETE /executions/{id}", s.deleteExecution),
		on("GET /executions/{id}/tree", s.getExecutionTree),
		on("POST /executions/{id}/cancel", s.cancelExecution),
		on("GET /executions/{id}/close", s.previewClose),
		on("POST /executions/{id}/close", s.closeExecution),
		on("POST /executions/{id}/resume", s.resumeExecution),
		on("POST /executions/{id}/prompts", s.promptExecution),            // prompts.go
		on("POST /executions/{id}/tool-results", s.answerToolCall),        // clientcalls.go
		on("GET /executions/{id}/generation", s.getGeneration),            // generations.go
		on("POST /executions/{id}/generation/edits", s.editGeneration),    // generations.go
		on("POST /executions/{id}/generation/accept", s.acceptGeneration), // generations.go
		on("GET /executions/{id}/approvals", s.listExecutionApprovals),    // approvals.go
		on("GET /executions/{id}/files/{fileId}", s.getExecutionFile),     // files.go
		on("GET /executions/{id}/events", s.listEvents),                   // events.go
		on("GET /executions/{id}/items", s.listItems),                     // items.go
		on("GET /executions/{id}/checkpoints", s.listCheckpoints),         // checkpoints.go
		on("GET /executions/{id}/diff", s.getDiff),                        // checkpoints.go
		on("POST /executions/{id}/rollback", s.rollBack),                  // checkpoints.go
		on("GET /executions/{id}/rollbacks", s.listRollbacks),             // checkpoints.go
		on("POST /executions/{id}/workspace/fetch", s.fetchWorkspace),     // workspace.go
		on("GET /executions/{id}/debug", s.listDebugMessages),             // debug.go
		on("GET /executions/{id}/export", s.exportExecution),              // export.go
		on("GET /events", s.followEvents),                                 // feed.go

		on("GET /runbooks", s.listRunbooks), // runbooks.go
		on("GET /runbooks/{id}/outputs", s.listOutputs),

		on("POST /files", s.uploadFile), // files.go

		on("GET /approvals", s.listApprovals), // approvals.go
		on("GET /approvals/{id}", s.getApproval),
		on("POST /approvals/{id}", s.decideApproval),
		on("POST /approvals/{id}/links", s.links.create), // links.go
		on("GET /approve/{token}", s.links.open),
		on("POST /approve/{token}", s.links.decide),

		on("GET /permission-rules", s.rules.list), // rules.go
		on("POST /permission-rules", s.rules.create),
		on("GET /permission-rules/{id}", s.rules.get),
		on("DELETE /permission-rules/{id}", s.rules.revoke),
		on("POST /policy/evaluate", s.rules.evaluate),

		on("GET /audit", s.listAudit),                  // audit.go
		on("GET /memory/{scope}", s.getMemory),         // memory.go
		on("PUT /memory/{scope}", s.putMemory),         // memory.go
		on("POST /templates/render", s.renderTemplate), // templates.go

		on("GET /webhooks", s.webhooks.list), // webhooks.go
		on("POST /webhooks", s.webhooks.create),
		on("GET /webhooks/{id}", s.webhooks.get),
		on("DELETE /webhooks/{id}", s.webhooks.delete),
		on("POST /webhooks/{id}/enable", s.webhooks.enable),
		on("POST /webhooks/{id}/rotate-secret", s.webhooks.rotateSecret),
		on("POST /webhooks/{id}/test", s.webhooks.test),
		on("GET /webhooks/{id}/deliveries", s.webhooks.deliveries),
		on("POST /webhooks/{id}/deliveries/{deliveryId}/redeliver", s.webhooks.redeliver),
	}
}

// binding is an operation and the constructor of its handler.
type binding struct {
	route   string // "METHOD /pattern"
	handler func(s *Server, o *contract.Operation) (http.HandlerFunc, error)
}

// on binds an operation to the method that answers it. The handler authenticates first, so that a sender without a key learns nothing about
// the input.
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
			if err := s.refuseSecretKey(r); err != nil {
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

// routes returns the router with all layers.
func (s *Server) routes() (chi.Router, error) {
	router := chi.NewRouter()
	router.Use(s.observe, headAsGet, s.protect)
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

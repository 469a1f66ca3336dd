package http

import "net/http"

// headAsGet answers HEAD like GET, and net/http drops the body (RFC 9110, sections 9.1 and 9.3.2). Monitors and proxies use HEAD to check
// a server. Streams and exports end with their headers.
func headAsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			infoOf(r.Context()).headOnly = true
			r = r.WithContext(r.Context()) // a copy: the request of net/http stays unchanged
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

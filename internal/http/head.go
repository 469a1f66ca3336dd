package http

import "net/http"

// takeHead answers HEAD as it would GET, and net/http keeps the body back (RFC 9110, sections 9.1 and 9.3.2): what watches over a server
// or stands before it asks so whether it is there. What never ends, or takes long to write, ends with its header.
func takeHead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			infoOf(r.Context()).headOnly = true
			r = r.WithContext(r.Context()) // the one of net/http stays what it is
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

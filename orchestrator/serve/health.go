package serve

import (
	"encoding/json"
	"net/http"
)

// onHealth says that the process lives.
func (s *Server) onHealth(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": OK})
}

// onReady says whether work is taken. It names parts and their states, nothing else.
func (s *Server) onReady(w http.ResponseWriter, r *http.Request) {
	out := struct {
		Status string            `json:"status"`
		Checks map[string]string `json:"checks"`
	}{"ready", map[string]string{}}
	status := http.StatusOK
	if s.draining.Load() {
		out.Status, status = "draining", http.StatusServiceUnavailable
	} else if s.o.Checks != nil {
		for _, c := range s.o.Checks(r.Context()) {
			out.Checks[c.Name] = c.State
			if c.State == Failed {
				out.Status, status = "not_ready", http.StatusServiceUnavailable
			}
		}
	}
	writeJSON(w, status, out)
}

// onVersion says which build it is.
func (s *Server) onVersion(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.o.Version)
}

// writeJSON writes v as the answer.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that left needs no answer
}

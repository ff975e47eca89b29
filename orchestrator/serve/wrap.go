package serve

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// visit is what the log line of a request has, besides its status. Handlers below fill it in.
type visit struct {
	area string
	seen *access.Seen
}

type visitKey struct{}

// nameArea tells the log which part answers.
func nameArea(area string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v, ok := r.Context().Value(visitKey{}).(*visit); ok {
			v.area = area
		}
		next.ServeHTTP(w, r)
	})
}

// idForm is what ids of requests look like that a proxy may give.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{7,63}$`)

// wrapAll gives each request its id, its headers, its line in the log, and holds a panic.
func (s *Server) wrapAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		from := remoteAddress(r)
		id := r.Header.Get("X-Request-Id")
		if !s.trusts(from) || !idForm.MatchString(id) {
			id = ids.New()
		}
		v := &visit{area: "none"}
		ctx, seen := access.Watch(problem.WithRequestID(context.WithValue(r.Context(), visitKey{}, v), id))
		v.seen = seen
		r = r.WithContext(ctx)
		s.setHeaders(w.Header(), id)
		out := &answer{ResponseWriter: w, control: http.NewResponseController(w)}
		defer s.logRequest(r, v, out, began)
		defer s.holdPanic(out, r)
		if prob := s.checkProxy(r, from); prob != nil {
			problem.Write(out, r, prob)
			return
		}
		next.ServeHTTP(out, r)
	})
}

// setHeaders sets what holds for each answer. A handler may set others.
func (s *Server) setHeaders(h http.Header, id string) {
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-store")
	if strings.HasPrefix(s.URL(), "https://") {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// checkProxy refuses what a proxy took from the network in the open.
func (s *Server) checkProxy(r *http.Request, from netip.Addr) *problem.Problem {
	if s.tls || !s.trusts(from) {
		return nil
	}
	if proto := r.Header.Values("X-Forwarded-Proto"); len(proto) > 0 && (len(proto) > 1 || !strings.EqualFold(proto[0], "https")) {
		return problem.New(problem.Forbidden, "the proxy was reached without TLS: send the request to https")
	}
	return nil
}

// clientAddress is who sent the request, through declared proxies: the last address in
// X-Forwarded-For that is no proxy's.
func (s *Server) clientAddress(r *http.Request) netip.Addr {
	from := remoteAddress(r)
	if !s.trusts(from) {
		return from
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		a, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return from
		}
		if from = a.Unmap().WithZone(""); !s.trusts(from) {
			return from
		}
	}
	return from
}

// remoteAddress is who is at the other end of the connection.
func remoteAddress(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

// forwarded are headers of requests that somebody passed on.
var forwarded = []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Forwarded", "Via"}

// isOwnMachine reports whether a caller on this machine sent the request itself. A proxy on this
// machine passes on what comes from elsewhere.
func isOwnMachine(r *http.Request) bool {
	if slices.ContainsFunc(forwarded, func(h string) bool { return len(r.Header.Values(h)) > 0 }) {
		return false
	}
	return remoteAddress(r).IsLoopback()
}

// holdPanic answers for a handler that panicked. One that means to break the connection does.
func (s *Server) holdPanic(w *answer, r *http.Request) {
	v := recover() //nolint:revive // it is deferred itself
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		w.status = 0
		panic(v)
	}
	s.log.Error("a handler broke; the request was answered with 500", "request_id",
		problem.RequestID(r.Context()), "stack", string(debug.Stack()))
	if w.status != 0 { // an answer is under way: it must not look whole
		panic(http.ErrAbortHandler)
	}
	problem.Write(w, r, problem.New(problem.Internal, ""))
}

// methods are those that a log line names.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// logRequest writes the line of a request: nothing of it is the caller's own words.
func (s *Server) logRequest(r *http.Request, v *visit, w *answer, began time.Time) {
	method := r.Method
	if !slices.Contains(methods, method) {
		method = "other"
	}
	level := slog.LevelInfo
	if v.area == "health" || v.area == "metrics" {
		level = slog.LevelDebug
	}
	if w.status >= http.StatusInternalServerError && v.area != "health" {
		level = slog.LevelWarn
	}
	s.log.Log(r.Context(), level, "request", "method", method, "area", v.area, "status", w.status, "bytes", w.bytes,
		"took", time.Since(began).Round(time.Microsecond), "request_id", problem.RequestID(r.Context()), "principal", v.seen.ID(),
		"from", s.clientAddress(r).String())
}

// answer counts what is written. Each write has its own time: a stream may last, a reader that
// takes nothing may not.
type answer struct {
	http.ResponseWriter
	control *http.ResponseController
	status  int
	bytes   int64
}

// WriteHeader notes the status.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusOK && a.status == 0 {
		a.status = status
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTime))
	a.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the answer.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTime))
	n, err := a.ResponseWriter.Write(b)
	a.bytes += int64(n)
	return n, err
}

// Flush sends what was written.
func (a *answer) Flush() { _ = a.FlushError() }

// FlushError sends what was written, and says whether it got through.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	_ = a.control.SetWriteDeadline(time.Now().Add(writeTime))
	return a.control.Flush()
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

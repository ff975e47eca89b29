package web

import (
	"context"
	"crypto/subtle"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

// visitor is a person with a session, for one request.
type visitor struct {
	session
	id      string
	replays bool // there is a page of replay
}

// cookieName is what the cookie of a session, or of a sign-in, is called. With TLS its name binds it
// to this host: no neighbour can set it.
func (p *Pages) cookieName(r *http.Request, what string) string {
	if p.secure || r.TLS != nil {
		return "__Host-vedette-" + what
	}
	return "vedette-" + what
}

const (
	cookieSession = "session"
	cookieSignIn  = "sign-in"
	cookieJourney = "journey"
)

// setCookie sets a cookie of ours; an empty value takes it away.
func (p *Pages) setCookie(w http.ResponseWriter, r *http.Request, what, value string) {
	http.SetCookie(w, p.newCookie(r, what, value))
}

// newCookie makes a cookie that comes from no other site.
func (p *Pages) newCookie(r *http.Request, what, value string) *http.Cookie {
	c := &http.Cookie{Name: p.cookieName(r, what), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: p.secure || r.TLS != nil}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// readCookie returns a cookie of ours. Two of one name are none: somebody else set one of them.
func (p *Pages) readCookie(r *http.Request, what string) string {
	if list := r.CookiesNamed(p.cookieName(r, what)); len(list) == 1 {
		return list[0].Value
	}
	return ""
}

// findVisitor returns who has signed in; nil where the session is over, its token is revoked, or its issuer
// no longer lets the person in.
func (p *Pages) findVisitor(r *http.Request, acts bool) *visitor {
	id := p.readCookie(r, cookieSession)
	if id == "" {
		return nil
	}
	s, ok := p.sessions.find(id, acts)
	if !ok {
		return nil
	}
	if !p.o.Guard.Alive(s.principal) {
		if s, ok = p.renew(r.Context(), id, s); !ok {
			p.sessions.finish(id)
			return nil
		}
	}
	return &visitor{s, id, p.o.Replay != nil}
}

// renew asks the issuer again about a session's principal whose time has ended. ok is false where the
// session is over: the issuer can't be asked so, says no, or can't be reached.
func (p *Pages) renew(ctx context.Context, id string, s session) (session, bool) {
	if p.o.Issuer == nil || s.renewal == nil {
		return session{}, false
	}
	s.renewal.mu.Lock()
	defer s.renewal.mu.Unlock()
	if now, ok := p.sessions.find(id, false); !ok || p.o.Guard.Alive(now.principal) {
		return now, ok // another request has asked
	}
	// A browser that leaves must not cost the session its renewal.
	fresh, next, err := p.o.Issuer.Renew(context.WithoutCancel(ctx), s.principal, s.renewal.token)
	if err != nil || !p.o.Guard.Alive(fresh) {
		p.o.Log.Info("a session ended, since the issuer does not renew it", "principal", s.principal.ID)
		return session{}, false
	}
	s.renewal.token = next
	return p.sessions.replace(id, fresh)
}

// isHere reports whether a visitor still counts, for requests that wait.
func (p *Pages) isHere(v *visitor) bool {
	s, ok := p.sessions.find(v.id, false)
	return ok && p.o.Guard.Alive(s.principal) && slices.Equal(s.principal.Scopes, v.principal.Scopes)
}

// page answers a visitor.
type page func(w http.ResponseWriter, r *http.Request, v *visitor)

// forScope lets visitors through whose token has the scope. isPart says that a page asks for a part of
// itself: no person did something.
func (p *Pages) forScope(scope access.Scope, next page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := p.findVisitor(r, !isPart(r))
		switch {
		case v == nil:
			p.sendToSignIn(w, r)
		case !v.principal.May(scope):
			p.showFailure(w, v, failure{http.StatusForbidden, "Your token doesn't let you in here",
				"It lacks the scope " + string(scope) + ". Sign in with a token that has it: vedette token create --scope."})
		case p.isTooFast(w, v.principal):
			p.showFailure(w, v, failure{http.StatusTooManyRequests, "That was too fast",
				"Your token may send no more requests at the moment. Nothing was changed. Wait a little, and do it again."})
		default:
			next(w, r, v)
		}
	}
}

// isTooFast counts a request against the rate of its visitor's token: a session is no way round it.
func (p *Pages) isTooFast(w http.ResponseWriter, who access.Principal) bool {
	wait := p.o.Guard.Spend(who)
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	return wait > 0
}

// isPart reports whether a page, and no person, asks.
func isPart(r *http.Request) bool {
	return r.Header.Get("HX-Request") != "" || strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream")
}

// local are the addresses to which a sign-in leads back.
var local = regexp.MustCompile(`^/(approvals|standing|chat|log|review)(/[A-Za-z0-9][A-Za-z0-9._:@-]{0,127})?$`)

// sendToSignIn leads to the sign-in, and back.
func (p *Pages) sendToSignIn(w http.ResponseWriter, r *http.Request) {
	to := "/login"
	if local.MatchString(r.URL.Path) {
		to += "?next=" + url.QueryEscape(r.URL.Path)
	}
	switch {
	case r.Header.Get("HX-Request") != "":
		w.Header().Set("HX-Redirect", to)
		w.WriteHeader(http.StatusUnauthorized)
	case isPart(r):
		http.Error(w, "Sign in again.", http.StatusUnauthorized)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		p.showFailure(w, nil, failure{http.StatusUnauthorized, "You are signed out",
			"What you sent was not taken. Sign in and send it again."})
	case isFromElsewhere(r) && local.MatchString(r.URL.Path):
		// A strict cookie stays at home when another site's link leads here. The page leads to itself
		// once more, and then it comes along.
		p.show(w, http.StatusOK, "arrive", view{Path: r.URL.Path})
	default:
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}

// isFromElsewhere reports whether a link of another site led here.
func isFromElsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return r.Header.Get("Cookie") == "" && (site == "cross-site" || site == "same-site")
}

// isOwn reports whether a POST comes from a page of ours, as far as the browser says.
func (p *Pages) isOwn(r *http.Request) bool {
	if site := r.Header.Values("Sec-Fetch-Site"); len(site) > 1 || len(site) == 1 && site[0] != "same-origin" {
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	u, err := url.Parse(origins[0])
	if err != nil || len(origins) > 1 {
		return false
	}
	return origins[0] == p.origin || (u.Scheme == "http" || u.Scheme == "https") && u.Host == r.Host && origins[0] == u.Scheme+"://"+u.Host
}

// isSame compares two secrets in constant time.
func isSame(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// fieldToken is the field of a form that holds its CSRF token.
const fieldToken = "csrf"

// readOwnForm reads a form that a page of the visitor sent. ok is false where the answer is written.
func (p *Pages) readOwnForm(w http.ResponseWriter, r *http.Request, v *visitor, names ...string) (form map[string]string, ok bool) {
	if !p.isOwn(r) {
		p.showFailure(w, v, failure{http.StatusForbidden, "Another site sent this",
			"Nothing was changed. Open the page here and send it from there."})
		return nil, false
	}
	form, err := readForm(w, r, append(names, fieldToken)...)
	if err != nil {
		status := http.StatusBadRequest
		if err == errLongForm { //nolint:errorlint // it is never wrapped
			status = http.StatusRequestEntityTooLarge
		}
		p.showFailure(w, v, failure{status, "The form can't be read", err.Error()})
		return nil, false
	}
	if !isSame(form[fieldToken], v.sessionToken) {
		p.showFailure(w, v, failure{http.StatusForbidden, "The form is of another session",
			"Nothing was changed. Open the page again and send it from there."})
		return nil, false
	}
	return form, true
}

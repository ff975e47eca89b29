package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

// signin are the pages on which people sign in and out.
type signin struct{ *Pages }

func (s signin) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /login", s.onForm)
	mux.HandleFunc("POST /login", s.onSignIn)
	mux.HandleFunc("POST /logout", s.onSignOut)
}

// maxSecret is how long a token is at most: an issuer's are the longest.
const maxSecret = 8 << 10

// signInView is the form of a sign-in.
type signInView struct {
	CSRF, Next, Problem string
	// Issuer is the name of an issuer that signs people in; empty is none. Only says that no token does.
	Issuer string
	Only   bool
}

func (s signin) onForm(w http.ResponseWriter, r *http.Request) {
	next := r.URL.Query().Get("next")
	if !local.MatchString(next) {
		next = ""
	}
	s.showForm(w, r, http.StatusOK, signInView{Next: next})
}

// showForm shows the form with a CSRF token that fits the browser's cookie.
func (s signin) showForm(w http.ResponseWriter, r *http.Request, status int, f signInView) {
	id := s.readCookie(r, cookieSignIn)
	if id == "" {
		id = newSecret()
		s.setCookie(w, r, cookieSignIn, id)
	}
	f.CSRF, f.Only = s.formToken(id), s.o.IssuerOnly
	if s.o.Issuer != nil {
		f.Issuer = s.o.Issuer.Name()
	}
	s.show(w, status, "login", view{Title: "Sign in", Body: f})
}

// formToken is the CSRF token of a sign-in form for a browser.
func (s signin) formToken(id string) string {
	h := hmac.New(sha256.New, s.key[:])
	h.Write([]byte("sign-in\n" + id))
	return hex.EncodeToString(h.Sum(nil))
}

func (s signin) onSignIn(w http.ResponseWriter, r *http.Request) {
	form, again, ok := s.readForm(w, r, "token")
	if !ok {
		return
	}
	p, status, problem := s.admit(r, strings.TrimSpace(form["token"]))
	if problem != "" {
		again.Problem = problem
		s.showForm(w, r, status, again)
		return
	}
	s.begin(w, r, access.Arrival{Principal: p})
	if again.Next == "" {
		again.Next = "/"
	}
	http.Redirect(w, r, again.Next, http.StatusSeeOther)
}

// readForm reads a form of the sign-in page that this browser was shown. again is the form to show where
// the sign-in fails. ok is false where the answer is written.
func (s signin) readForm(w http.ResponseWriter, r *http.Request, names ...string) (form map[string]string, again signInView, ok bool) {
	if !s.isOwn(r) {
		s.showFailure(w, nil, failure{http.StatusForbidden, "Another site sent this", "Open the sign-in here and send it from there."})
		return nil, again, false
	}
	form, err := readForm(w, r, append(names, "next", fieldToken)...)
	if err != nil {
		s.showFailure(w, nil, failure{http.StatusBadRequest, "The form can't be read", err.Error()})
		return nil, again, false
	}
	if local.MatchString(form["next"]) {
		again.Next = form["next"]
	}
	id := s.readCookie(r, cookieSignIn)
	if id == "" || !isSame(form[fieldToken], s.formToken(id)) {
		again.Problem = "The form was too old, or the browser keeps no cookies. Send it again."
		s.showForm(w, r, http.StatusForbidden, again)
		return nil, again, false
	}
	return form, again, true
}

// begin begins the session of a principal in this browser, and ends the one that it had.
func (s signin) begin(w http.ResponseWriter, r *http.Request, came access.Arrival) {
	if old := s.readCookie(r, cookieSession); old != "" {
		s.sessions.finish(old)
	}
	s.setCookie(w, r, cookieSignIn, "")
	s.setCookie(w, r, cookieSession, s.sessions.begin(came))
}

// admit returns who a token is of, or why it lets no person in here.
func (s signin) admit(r *http.Request, token string) (p access.Principal, status int, problem string) {
	if s.o.IssuerOnly {
		return p, http.StatusForbidden, "These pages take no token. Sign in at the issuer."
	}
	if token == "" || len(token) > maxSecret {
		return p, http.StatusUnauthorized, "Paste a token: vedette token create makes one."
	}
	p, err := s.o.Guard.SignIn(r.Context(), token)
	switch {
	case errors.Is(err, access.ErrAway):
		return p, http.StatusServiceUnavailable, "The issuer of the token can't be asked. Try again in a moment."
	case err != nil:
		return p, http.StatusUnauthorized, "The token is not valid: it is unknown, revoked or expired."
	case !hasArea(p):
		return p, http.StatusForbidden, "The token has none of the scopes approve, chat, review and label, and these pages have nothing else."
	case s.o.Guard.Spend(p) > 0:
		return p, http.StatusTooManyRequests, "The token may send no more requests at the moment. Wait a little, and sign in again."
	}
	return p, 0, ""
}

func (s signin) onSignOut(w http.ResponseWriter, r *http.Request) {
	v := s.findVisitor(r, true)
	if v == nil {
		http.Redirect(w, r, "/login", http.StatusSeeOther)
		return
	}
	if _, ok := s.readOwnForm(w, r, v); !ok {
		return
	}
	s.sessions.finish(v.id)
	s.setCookie(w, r, cookieSession, "")
	if v.atIssuer != "" {
		if address := s.o.Issuer.SignOut(r.Context(), s.origin+"/login", v.atIssuer); address != "" {
			w.Header().Set("Referrer-Policy", "no-referrer")
			s.show(w, http.StatusOK, "leave", leaveView{address, s.o.Issuer.Name(), "out"})
			return
		}
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

package web

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// redirect signs people in at the issuer: it leads their browser there, and meets it when it comes back.
type redirect struct{ *Pages }

func (d redirect) register(mux *http.ServeMux) {
	mux.HandleFunc("POST /login/issuer", d.onLeave)
	mux.HandleFunc("GET "+pathCallback, d.onReturn)
}

// pathCallback is where the issuer leads browsers back to.
const pathCallback = "/login/callback"

// journey is what the browser keeps, sealed, while it is at the issuer.
type journey struct {
	Attempt string `json:"attempt"`
	Next    string `json:"next"`
}

// onLeave leads a browser to the issuer. A page does so, and no redirect: the form's own policy lets it
// lead to us alone. The browser's earlier session ends here: its strict cookie does not come along on the way back.
func (d redirect) onLeave(w http.ResponseWriter, r *http.Request) {
	_, again, ok := signin(d).readForm(w, r)
	if !ok {
		return
	}
	address, attempt, err := d.o.Issuer.Begin(r.Context(), d.origin+pathCallback)
	if err != nil {
		d.showTrouble(w, r, err, again.Next)
		return
	}
	sealed, err := d.seal(journey{attempt, again.Next})
	if err != nil {
		d.showBroken(w, r, nil, err)
		return
	}
	if old := d.readCookie(r, cookieSession); old != "" {
		d.sessions.finish(old)
		d.setCookie(w, r, cookieSession, "")
	}
	d.setJourney(w, r, sealed)
	d.show(w, http.StatusOK, "leave", leaveView{address, d.o.Issuer.Name(), "in"})
}

// leaveView is the page that leads to the issuer, to sign in or out.
type leaveView struct{ Address, Issuer, Way string }

// setJourney sets the cookie of a sign-in at the issuer; an empty value takes it away. It isn't strict: the
// issuer's redirect comes from another site.
func (d redirect) setJourney(w http.ResponseWriter, r *http.Request, value string) {
	c := d.newCookie(r, cookieJourney, value)
	c.SameSite = http.SameSiteLaxMode
	http.SetCookie(w, c)
}

// onReturn meets a browser that comes back from the issuer. The cookie says that it is the one that left.
// The session's cookie is strict and stays at home on a way that another site began: so the page leads on.
func (d redirect) onReturn(w http.ResponseWriter, r *http.Request) {
	j, ok := d.open(d.readCookie(r, cookieJourney))
	if !ok {
		d.showTrouble(w, r, access.ErrUnauthenticated, "")
		return
	}
	came, err := d.o.Issuer.Finish(r.Context(), d.origin+pathCallback, j.Attempt, r.URL.Query())
	if err != nil {
		d.showTrouble(w, r, err, j.Next)
		return
	}
	d.setJourney(w, r, "")
	if !hasArea(came.Principal) {
		signin(d).showForm(w, r, http.StatusForbidden, signInView{Problem: "The issuer knows you, and these pages have nothing for you. " +
			"An operator gives rights to groups: server.auth.oidc.groups."})
		return
	}
	signin(d).begin(w, r, came)
	if !local.MatchString(j.Next) {
		j.Next = "/"
	}
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has the code
	d.show(w, http.StatusOK, "arrive", view{Path: j.Next})
}

// showTrouble shows the sign-in with what went wrong. Nothing of it is the issuer's words.
func (d redirect) showTrouble(w http.ResponseWriter, r *http.Request, err error, next string) {
	status, text := http.StatusUnauthorized, "The sign-in was begun in another browser or too long ago, was used already, or the issuer's "+
		"answer does not count. Begin again."
	switch {
	case errors.Is(err, access.ErrAway):
		status, text = http.StatusServiceUnavailable, "The issuer can't be asked. Try again in a moment."
		w.Header().Set("Retry-After", "5")
	case errors.Is(err, access.ErrDeclined):
		status, text = http.StatusForbidden, "The issuer did not sign you in. Begin again, or ask its operator."
	}
	d.o.Log.Info("a sign-in at the issuer failed", "request_id", problem.RequestID(r.Context()), "status", status)
	w.Header().Set("Referrer-Policy", "same-origin")
	signin(d).showForm(w, r, status, signInView{Next: next, Problem: text})
}

// sealer seals what browsers keep. Its key ends with the process.
func (d redirect) sealer() (cipher.AEAD, error) {
	h := hmac.New(sha256.New, d.key[:])
	h.Write([]byte("journey"))
	block, err := aes.NewCipher(h.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal seals a journey.
func (d redirect) seal(j journey) (string, error) {
	raw, err := json.Marshal(j)
	if err != nil {
		return "", err
	}
	box, err := d.sealer()
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(box.Seal(nil, nil, raw, nil)), nil
}

// open reads a journey that seal sealed.
func (d redirect) open(text string) (j journey, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || text == "" {
		return j, false
	}
	box, err := d.sealer()
	if err != nil {
		return j, false
	}
	raw, err := box.Open(nil, nil, sealed, nil)
	return j, err == nil && json.Unmarshal(raw, &j) == nil
}

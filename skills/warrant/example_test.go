package warrant_test

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills/warrant"
)

// requireWarrant is what a service puts before each of its own skills.
func requireWarrant(o warrant.VerifyOptions, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims, err := warrant.VerifyHTTP(r, o)
		status := http.StatusUnauthorized
		switch {
		case err == nil:
			log.Printf("call %s of %s", claims.CallID, claims.Skill)
			next.ServeHTTP(w, r)
			return
		case errors.Is(err, warrant.ErrBodyTooLarge):
			status = http.StatusRequestEntityTooLarge
		case errors.Is(err, warrant.ErrSeen), errors.Is(err, warrant.ErrOptions):
			status = http.StatusServiceUnavailable
		}
		log.Print(err) // for us; the caller learns only that it was refused
		http.Error(w, "no valid warrant", status)
	})
}

// A service runs its skill only for requests that were allowed, each once.
func ExampleVerifyHTTP() {
	log.SetOutput(io.Discard)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}

	// The receiving service.
	seen := warrant.NewSeen(warrant.SeenOptions{})
	send := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "sent %s", body)
	})
	service := httptest.NewServer(requireWarrant(warrant.VerifyOptions{
		Keys:     map[string]ed25519.PublicKey{"2026-06": public},
		Audience: "https://mail.internal/send",
		Seen:     seen.First,
	}, send))
	defer service.Close()

	// The sender, after the call was allowed.
	signer, err := warrant.NewHTTPSigner(private, "2026-06")
	if err != nil {
		panic(err)
	}
	const allowed = `{"to":"ann@example.com"}`
	now := time.Now()
	token, err := signer.Token(warrant.Claims{
		Audience: "https://mail.internal/send",
		ID:       "6f1c2b7e90aa4c1d8e5f00112233aabb",
		Digest:   "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
		Skill:    "email.send",
		CallID:   "call-1",
		Body:     warrant.BodyDigest([]byte(allowed)),
		Target:   warrant.TargetDigest(http.MethodPost, "/"),
		IssuedAt: now,
		Expires:  now.Add(time.Minute),
	})
	if err != nil {
		panic(err)
	}

	post := func(body string) {
		req, err := http.NewRequest(http.MethodPost, service.URL+"/", strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		req.Header.Set(warrant.Header, token)
		res, err := service.Client().Do(req)
		if err != nil {
			panic(err)
		}
		defer func() { _ = res.Body.Close() }()
		answer, _ := io.ReadAll(res.Body)
		fmt.Println(res.StatusCode, strings.TrimSpace(string(answer)))
	}
	post(`{"to":"eve@example.com"}`)
	post(allowed)
	post(allowed)
	// Output:
	// 401 no valid warrant
	// 200 sent {"to":"ann@example.com"}
	// 401 no valid warrant
}

// A pair in one process: what was decided is what runs, once.
func ExampleNewPair() {
	signer, verifier, err := warrant.NewPair(warrant.Options{})
	if err != nil {
		panic(err)
	}
	w, err := signer.Issue("sha256:aa")
	if err != nil {
		panic(err)
	}
	fmt.Println(verifier.Redeem(w, "sha256:bb"))
	fmt.Println(verifier.Redeem(w, "sha256:aa"))
	fmt.Println(verifier.Redeem(w, "sha256:aa"))
	fmt.Println(verifier.Redeem(warrant.Warrant{}, "sha256:aa"))
	// Output:
	// warrant: issued for another call
	// <nil>
	// warrant: already used
	// warrant: not a valid warrant
}

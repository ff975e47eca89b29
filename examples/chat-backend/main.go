// Chat-backend is a chat server with Vedette inside. POST /chat answers a message of the person who is
// logged in; a letter waits until the boss says yes at /v1/approvals. Run it from its folder:
//
//	OPENAI_API_KEY=… CHAT_LOGINS="ann=SECRET1 boss=SECRET2" go run .
//	curl -H "Authorization: Bearer SECRET1" localhost:8421/chat -d '{"conversation":"c1","text":"Write to bob@example.com that I am late"}'
//
// The people are the program's own: it says who they are, and the API of Vedette takes its word.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/api"
	"github.com/vedette-dev/vedette/skills"
)

type letter struct{ To, Text string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends. Requests that are under way then end first.
func run(ctx context.Context) (err error) {
	send, err := skills.Func(skills.Spec{Name: "mail.send", Description: "Send a letter.", Effect: skills.Irreversible},
		func(_ context.Context, l letter) (string, error) { return "sent to " + l.To, nil })
	if err != nil {
		return err
	}
	cfg, err := config.Load("vedette.yaml", config.Options{Program: []*skills.Skill{send.Skill()}})
	if err != nil {
		return err
	}
	o, err := orchestrator.New(ctx, cfg, orchestrator.Options{Skills: []*skills.GoSkill{send}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close(context.WithoutCancel(ctx))) }()
	people := newPeople(os.Getenv("CHAT_LOGINS"))
	vedette, err := api.New(ctx, api.Options{Orchestrator: o, Guard: people})
	if err != nil {
		return err
	}
	defer vedette.Close()
	mux := http.NewServeMux()
	mux.Handle("/v1/", vedette)
	mux.Handle("POST /chat", people.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { onChat(o, w, r) })))
	return serve(ctx, mux)
}

// onChat answers one message. While a person is asked about a call, the request waits.
func onChat(o *orchestrator.Orchestrator, w http.ResponseWriter, r *http.Request) {
	who, _ := access.FromContext(r.Context()) // people put it there
	var body struct{ Conversation, Text string }
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&body) != nil || body.Text == "" {
		http.Error(w, `send {"conversation":"c1","text":"…"}`, http.StatusBadRequest)
		return
	}
	chat, err := o.Open(r.Context(), orchestrator.ConversationOptions{ID: body.Conversation, User: who.User})
	var reply orchestrator.Reply
	if err == nil {
		reply, err = chat.Send(r.Context(), body.Text)
	}
	switch {
	case errors.Is(err, orchestrator.ErrOtherUser):
		http.Error(w, "there is no such conversation of yours", http.StatusNotFound)
	case errors.Is(err, orchestrator.ErrRequest):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case err != nil:
		log.Print(err)
		http.Error(w, "the message could not be answered; try again", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"text": reply.Text}) // the caller may have left
	}
}

// people are who may log in, by the SHA-256 of their secrets.
type people map[[sha256.Size]byte]string

func newPeople(logins string) people {
	out := people{}
	for _, login := range strings.Fields(logins) {
		if name, secret, ok := strings.Cut(login, "="); ok && len(secret) >= 16 {
			out[sha256.Sum256([]byte(secret))] = name
		}
	}
	return out
}

// Wrap says to the handler who calls. It is the login of the program, before both of its doors.
func (p people) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		name, known := p[sha256.Sum256([]byte(secret))]
		if !known {
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		scopes := []access.Scope{access.Chat, access.Approve}
		next.ServeHTTP(w, r.WithContext(access.WithPrincipal(r.Context(), access.Principal{
			ID: "login:" + name, Name: name, User: name, Scopes: scopes, UserTurns: access.UserTurnsHuman,
		})))
	})
}

func serve(ctx context.Context, h http.Handler) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+portOr("8421"))
	if err != nil {
		return err
	}
	fmt.Println("chat-backend listens on http://" + ln.Addr().String())
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(patience) != nil {
			_ = server.Close() // who waits for a person asks again: the question is kept
		}
		ended <- nil
	})
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

func portOr(otherwise string) string {
	if port := os.Getenv("CHAT_PORT"); port != "" {
		return port
	}
	return otherwise
}

// Intent-service lets people ask for four things in their own words, on a web form: find experts, summarize and analyze
// documents, draft a proposal. What they write becomes a checked, signed, typed intent; the functions that act are given
// its fields and no word of the text. It needs no key and no server: a scripted model reads the texts beside the grammar.
//
//	go run ./examples/intent-service
//
// It prints where it listens and the secrets of ann, bob and boss; INTENT_LOGINS="ann=SECRET1 boss=SECRET2" sets them.
// boss answers what the policy or the parsers disagree about at /approvals. INTENT_DIR keeps the data, INTENT_PORT is the
// port, and INTENT_MODEL_URL is a model server of your own.
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

//go:embed vedette.yaml
var configuration []byte

//go:embed model.yaml
var modelScript []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends.
func run(ctx context.Context) (err error) {
	dir, end, err := openFolder(os.Getenv("INTENT_DIR"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	modelURL := os.Getenv("INTENT_MODEL_URL")
	if modelURL == "" {
		model, err := serveModel(ctx)
		if err != nil {
			return err
		}
		defer model.Close()
		modelURL = model.BaseURL()
	}
	store, err := openLibrary(ctx, filepath.Join(dir, "library.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.close()) }()
	parts, err := build(ctx, dir, modelURL, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parts.Close()) }()
	logins, err := newLogins(os.Getenv("INTENT_LOGINS"))
	if err != nil {
		return err
	}
	s := &service{intake: parts.Intake, inbox: parts.Inbox}
	return serve(ctx, logins.wrap(s.routes()))
}

// openFolder returns the folder of the data, made where it isn't there, or one that is removed at the end.
func openFolder(name string) (dir string, end func() error, err error) {
	if name != "" {
		return name, func() error { return nil }, os.MkdirAll(name, 0o700)
	}
	if dir, err = os.MkdirTemp("", "intent-service"); err != nil {
		return "", nil, err
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// serveModel plays the script on a port of its own.
func serveModel(ctx context.Context) (*scripted.Server, error) {
	script, err := scripted.Load(modelScript)
	if err != nil {
		return nil, err
	}
	return scripted.Serve(context.WithoutCancel(ctx), script, scripted.Options{})
}

// build makes the stages, with the functions that act and the store that knows whose documents are whose.
func build(ctx context.Context, dir, modelURL string, store *library) (*assembly.Parts, error) {
	cfg, err := config.Parse("vedette.yaml", configuration, config.Options{Dir: dir, Env: func(name string) (string, bool) {
		return modelURL, name == "INTENT_MODEL_URL"
	}})
	if err != nil {
		return nil, err
	}
	return assembly.Build(ctx, cfg, assembly.Options{
		Handlers: store.handlers(), References: store,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

// logins are who may come in, by the SHA-256 of their secrets.
type logins map[[sha256.Size]byte]string

// newLogins reads NAME=SECRET; without any it makes secrets and prints them.
func newLogins(text string) (logins, error) {
	out := logins{}
	if text == "" {
		for _, name := range []string{"ann", "bob", approver} {
			secret := rand.Text()
			out[sha256.Sum256([]byte(secret))] = name
			fmt.Printf("log in as %s with %s\n", name, secret)
		}
		return out, nil
	}
	for _, login := range strings.Fields(text) {
		name, secret, ok := strings.Cut(login, "=")
		if !ok || len(secret) < 16 {
			return nil, errors.New("INTENT_LOGINS has a login that is no NAME=SECRET with a secret of 16 bytes or more")
		}
		out[sha256.Sum256([]byte(secret))] = name
	}
	return out, nil
}

type userKey struct{}

// wrap asks for a login, and refuses what another site's page sends with it.
func (l logins) wrap(next http.Handler) http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, secret, _ := r.BasicAuth()
		known, ok := l[sha256.Sum256([]byte(secret))]
		if !ok || known != name {
			w.Header().Set("WWW-Authenticate", `Basic realm="intent-service"`)
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, name)))
	}))
}

// userOf is who logged in.
func userOf(r *http.Request) string {
	name, _ := r.Context().Value(userKey{}).(string)
	return name
}

func serve(ctx context.Context, h http.Handler) error {
	port := os.Getenv("INTENT_PORT")
	if port == "" {
		port = "8422"
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	fmt.Println("intent-service listens on http://" + ln.Addr().String())
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(patience) != nil {
			_ = server.Close() // a request that is cut off goes on, and its page tells of its end
		}
		ended <- nil
	})
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

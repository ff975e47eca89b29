package llm_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/arrival"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a real HTTP server on loopback that keeps the bodies it received.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
	// arrived is told of each request once it is kept; nil tells none.
	arrived func(http.Header)
}

// serve starts a server whose answers come from h, after the request's body was
// read to its end.
func serve(t testing.TB, h http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "unreadable", http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.bodies, s.heads = append(s.bodies, string(b)), append(s.heads, r.Header.Clone())
		arrived := s.arrived
		s.mu.Unlock()
		if arrived != nil {
			arrived(r.Header)
		}
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) received() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// answer writes a success with this body.
func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// fine is the smallest complete answer.
const fine = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m-1","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,` +
	`"total_tokens":7}}`

func client(t testing.TB, url string, change func(*llm.Config)) *llm.Client {
	return clientOver(t, url, change, nil)
}

// patient is a client whose time ends no request before the server has read it, or
// where begun is set, before the client has the head of an answer.
func patient(t testing.TB, s *server, change func(*llm.Config), begun bool) *llm.Client {
	k := &arrival.Carrier{Next: llm.NewHTTPClient().Transport}
	if !begun {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.arrived = k.OnArrival
	}
	return clientOver(t, s.URL, change, &http.Client{Transport: k})
}

func clientOver(t testing.TB, url string, change func(*llm.Config), hc *http.Client) *llm.Client {
	cfg := llm.Config{Name: "fast", Model: "m-1", BaseURL: url + "/v1", APIKey: "sk-canary-key"}
	if change != nil {
		change(&cfg)
	}
	c, err := llm.New(cfg, hc)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdle)
	return c
}

func ask(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}}
}

package command

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/cmd/vedette/demo"
)

// visitor asks a demo that is served, with the token that it printed.
type visitor struct {
	t          *testing.T
	url, token string
}

// ask sends a request, and reads its answer into out.
func (v *visitor) ask(method, path, body string, out any) int {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(body))
	require.NoError(v.t, err)
	r.Close = true
	r.Header.Set("Authorization", "Bearer "+v.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(v.t, err)
	defer func() { require.NoError(v.t, res.Body.Close()) }()
	raw, err := io.ReadAll(res.Body)
	require.NoError(v.t, err)
	if out != nil {
		require.NoError(v.t, json.Unmarshal(raw, out), string(raw))
	}
	return res.StatusCode
}

// A demo that is served needs nothing, takes another port where its own is taken, and prints a token that sends a request,
// answers the question that it comes to, and sees the mail leave. Without the token it lets nobody in.
func TestServeDemo(t *testing.T) {
	if taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:8420"); err == nil {
		defer func() { require.NoError(t, taken.Close()) }()
	}
	t.Setenv("TMPDIR", t.TempDir())
	ctx, end := context.WithCancel(t.Context())
	defer end()
	screen, code := &screenful{}, make(chan int, 1)
	go func() {
		code <- runLine(ctx, []string{"serve", "--demo"}, &app{in: strings.NewReader(""), out: screen, err: screen})
	}()
	told := regexp.MustCompile(`open (http://127\.0\.0\.1:\d+)/chat and sign in with this token, which is shown this once:\n(vdt_\S+)\n`)
	require.Eventually(t, func() bool { return told.MatchString(screen.String()) }, 2*time.Minute, 10*time.Millisecond)
	at := told.FindStringSubmatch(screen.String())
	v := &visitor{t: t, url: at[1], token: at[2]}

	stranger := &visitor{t: t, url: v.url, token: "vdt_" + strings.Repeat("a", 43)}
	require.Equal(t, http.StatusUnauthorized, stranger.ask(http.MethodGet, "/v1/approvals", "", nil))
	mail, err := json.Marshal(map[string]any{"text": demo.Requests()[1], "request_id": "r1", "wait_seconds": 0})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, v.ask(http.MethodPost, "/v1/conversations/c1/messages", string(mail), nil))
	var open struct {
		Data []struct{ ID, Digest, Skill string }
	}
	require.Eventually(t, func() bool {
		v.ask(http.MethodGet, "/v1/approvals?conversation=c1", "", &open)
		return len(open.Data) == 1
	}, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, "email.send", open.Data[0].Skill)
	folder := regexp.MustCompile(`folder +(\S+)`).FindStringSubmatch(screen.String())[1]
	sent := func() []string {
		list, err := filepath.Glob(filepath.Join(folder, "outbox", "new", "*"))
		require.NoError(t, err)
		return list
	}
	require.Empty(t, sent(), "no mail leaves before the answer")
	answer := `{"word":"yes","digest":"` + open.Data[0].Digest + `"}`
	require.Equal(t, http.StatusOK, v.ask(http.MethodPost, "/v1/approvals/"+open.Data[0].ID+"/answer", answer, nil))
	var got struct {
		State string
		Reply struct{ Text string }
	}
	require.Equal(t, http.StatusOK, v.ask(http.MethodGet, "/v1/conversations/c1/requests/r1?wait_seconds=120", "", &got))
	require.Equal(t, "answered", got.State)
	require.NotEmpty(t, got.Reply.Text)
	require.Len(t, sent(), 1)
	text, err := os.ReadFile(sent()[0])
	require.NoError(t, err)
	require.Contains(t, string(text), "john@example.com")

	end()
	require.Equal(t, exitOK, <-code)
	require.Contains(t, screen.String(), "nothing was cut off")
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test binary stand in for the program.
func TestMain(m *testing.M) {
	if os.Getenv("INTENT_AS_PROGRAM") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The secrets of this test's people.
const ann, boss = "ann-0123456789abcdef", "boss-0123456789abcdef"

// server is the program, as a browser sees it.
type server struct {
	t   *testing.T
	url string
}

// start runs the program in a folder.
func start(t *testing.T, dir string) server {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self)
	cmd.Env = append(os.Environ(), "INTENT_AS_PROGRAM=1", "INTENT_PORT=0", "INTENT_DIR="+dir, "INTENT_LOGINS=ann="+ann+" boss="+boss)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait(), errs.String())
	})
	return server{t, strings.TrimSpace(strings.TrimPrefix(line, "intent-service listens on "))}
}

// ask sends a request of somebody's, and returns the page as it is read. form is nil for a GET.
func (s server) ask(user, secret, path string, form url.Values) (status int, page string) {
	s.t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(form.Encode()))
	require.NoError(s.t, err)
	r.SetBasicAuth(user, secret)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	require.NoError(s.t, err)
	defer res.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res.StatusCode, html.UnescapeString(string(raw))
}

// write sends a text of ann's.
func (s server) write(text string) (status int, page string) {
	s.t.Helper()
	return s.ask("ann", ann, "/requests", url.Values{"text": {text}})
}

// found is what a page has in a place.
func (s server) found(page, expr string) string {
	s.t.Helper()
	m := regexp.MustCompile(expr).FindStringSubmatch(page)
	require.NotNil(s.t, m, "%s in\n%s", expr, page)
	return m[1]
}

// answerOne has the approver answer the one question that waits.
func (s server) answerOne(word string) {
	s.t.Helper()
	var page string
	question := regexp.MustCompile(`action="(/approvals/[^"]+)"`)
	require.Eventually(s.t, func() bool {
		_, page = s.ask(approver, boss, "/approvals", nil)
		return len(question.FindAllString(page, -1)) == 1
	}, 4*time.Minute, 10*time.Millisecond)
	status, page := s.ask(approver, boss, s.found(page, question.String()), url.Values{
		"word": {word}, "digest": {s.found(page, `name="digest" value="([^"]+)"`)},
	})
	require.Equal(s.t, http.StatusOK, status, page)
}

// await waits until a request of ann's stands so.
func (s server) await(path, standing string) (page string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		_, page = s.ask("ann", ann, path, nil)
		return strings.Contains(page, "Your request is "+standing)
	}, 4*time.Minute, 10*time.Millisecond)
	return page
}

// What grammar and model read alike is done at once, with the fields of the intent alone.
func TestCompleted(t *testing.T) {
	s := start(t, t.TempDir())
	for text, want := range map[string][]string{
		"Find 2 experts in security under 1000 euros": {"Ada Brandt", "900.00 EUR"},
		"Summarize doc_harbour in 20 words":           {"The harbour was closed for three days."},
		"Analyze doc_roofs":                           {`"sentences": 2`, `"roofs"`},
		"Draft a proposal about solar roofs.":         {"Proposal on solar roofs."},
	} {
		status, page := s.write(text)
		require.Equal(t, http.StatusOK, status, page)
		require.Contains(t, page, "Your request is completed", text)
		for _, part := range want {
			require.Contains(t, page, part, text)
		}
	}
	_, page := s.write("Find 2 experts in security under 1000 euros")
	require.NotContains(t, page, "Ben Okafor", "above the budget")
}

// What the parsers read otherwise waits for the approver, and for no other.
func TestConflict(t *testing.T) {
	s := start(t, t.TempDir())
	for word, end := range map[string]string{"yes": "completed", "no": "denied"} {
		status, page := s.write("Find 2 experts for a proposal")
		require.Equal(t, http.StatusAccepted, status, page)
		require.Contains(t, page, "Your request is pending_approval")
		path := s.found(page, `href="(/requests/[^"]+)"`)
		status, _ = s.ask("ann", ann, "/approvals", nil)
		require.Equal(t, http.StatusForbidden, status)
		status, _ = s.ask(approver, boss, path, nil)
		require.Equal(t, http.StatusNotFound, status, "another's request")
		s.answerOne(word)
		s.await(path, end)
	}
}

// Slightly above the budget the user confirms exactly what was understood; far above it the approver is asked.
func TestBudget(t *testing.T) {
	s := start(t, t.TempDir())
	status, page := s.write("Find 2 experts in security under 5400 euros")
	require.Equal(t, http.StatusAccepted, status, page)
	require.Contains(t, page, "Your request is pending_confirmation")
	path, digest := s.found(page, `action="(/requests/[^"]+)"`), s.found(page, `name="digest" value="([^"]+)"`)
	status, _ = s.ask("ann", ann, path, url.Values{"word": {"yes"}, "digest": {strings.Repeat("0", len(digest))}})
	require.Equal(t, http.StatusBadRequest, status, "another intent")
	status, page = s.ask("ann", ann, path, url.Values{"word": {"yes"}, "digest": {digest}})
	require.Equal(t, http.StatusOK, status, page)
	require.Contains(t, page, "Ben Okafor")
	status, _ = s.ask("ann", ann, path, url.Values{"word": {"yes"}, "digest": {digest}})
	require.Equal(t, http.StatusBadRequest, status, "a second time")

	status, page = s.write("Find 2 experts in security under 9000 euros")
	require.Equal(t, http.StatusAccepted, status, page)
	require.Contains(t, page, "Your request is pending_approval")
	s.answerOne("no")
	s.await(s.found(page, `href="(/requests/[^"]+)"`), "denied")
}

// What looks like an attack is blocked, a topic that is forbidden is denied, and so is another's document.
func TestStopped(t *testing.T) {
	s := start(t, t.TempDir())
	for text, want := range map[string]string{
		"Find experts; rm -rf / --no-preserve-root":            "blocked",
		"Find 2 experts' UNION SELECT owner FROM documents --": "blocked",
		"Draft a proposal about weapons.":                      "denied",
		"Summarize doc_salaries":                               "denied",
	} {
		status, page := s.write(text)
		require.Equal(t, http.StatusForbidden, status, text)
		require.Contains(t, page, "Your request is "+want, text)
		require.NotContains(t, page, "bob alone")
	}
	status, page := s.write("Good morning")
	require.Equal(t, http.StatusBadGateway, status, page)
	status, _ = s.write(" ")
	require.Equal(t, http.StatusBadRequest, status)
}

// A text that looks like SQL and passes the detector is a topic of letters and underscores, and harms no table.
func TestSQLIsHarmless(t *testing.T) {
	s := start(t, t.TempDir())
	for _, text := range []string{
		"Draft a proposal about Robert'); delete from experts",
		"Draft a proposal about x' or owner like '%",
		`Draft a proposal about "); insert into experts values (1)`,
	} {
		status, page := s.write(text)
		require.Contains(t, []int{http.StatusOK, http.StatusAccepted, http.StatusForbidden, http.StatusBadGateway}, status, page)
		require.NotContains(t, page, "SQL logic error")
	}
	status, page := s.write("Find 5 experts in security")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Ada Brandt")
	require.Contains(t, page, "Ben Okafor")
	require.NotContains(t, page, "Eva Lindqvist")
}

// A question outlives the process.
func TestRestart(t *testing.T) {
	dir, path := t.TempDir(), ""
	t.Run("asked", func(t *testing.T) {
		s := start(t, dir)
		_, page := s.write("Find 2 experts for a proposal")
		path = s.found(page, `href="(/requests/[^"]+)"`)
	})
	t.Run("answered", func(t *testing.T) {
		s := start(t, dir)
		s.answerOne("yes")
		s.await(path, "completed")
	})
}

// Who isn't logged in sees nothing, and another site's page can't send a form.
func TestDoor(t *testing.T) {
	s := start(t, t.TempDir())
	for _, c := range [][2]string{{"ann", "wrong-0123456789abcdef"}, {"boss", ann}, {"", ""}} {
		status, _ := s.ask(c[0], c[1], "/", nil)
		require.Equal(t, http.StatusUnauthorized, status)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/requests", strings.NewReader("text=Find+2+experts"))
	require.NoError(t, err)
	r.SetBasicAuth("ann", ann)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	r.Close = true
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusForbidden, res.StatusCode)
}

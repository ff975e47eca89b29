package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/skills"
)

const (
	// DefaultWait is how long a call waits for a person: less than the 60 s that Claude Code
	// gives a hook.
	DefaultWait = 45 * time.Second
	// oneWait is how long one question waits for a person.
	oneWait = 20 * time.Second
	// askTime bounds a question beside its wait.
	askTime = 10 * time.Second
	// readTime bounds how long the event may take to arrive: a hook that waits for ever is ended by its
	// program, and older versions run the tool then.
	readTime = 10 * time.Second
	// maxAnswer bounds what is read, in bytes.
	maxAnswer = 4 << 20
	// maxReason bounds a reason for the model, in bytes.
	maxReason = 1000
)

// resultSizes are the greatest sizes of a result in bytes, each tried where the server takes no report with the one
// before it. server.limits.body is 1 MiB by default, and an escaped character takes six bytes. A result that
// was not reported would not taint.
var resultSizes = []int{768 << 10, 128 << 10, 16 << 10, 100}

// Options are the settings of a Hook.
type Options struct {
	// URL is the server's address: https, or http to this machine.
	URL string
	// Token has the scope call.
	Token string
	// State is a folder for the newest prompt of each session, made where it is missing.
	State string
	// Wait is how long a call waits for a person; zero is DefaultWait, negative not at all.
	Wait time.Duration
	// Client posts; nil is one that follows no redirect.
	Client *http.Client
}

// Hook answers events.
type Hook struct {
	o       Options
	prompts prompts
}

// New checks the settings. The errors hold no token.
func New(o Options) (*Hook, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" {
		return nil, errors.New("the server's address is missing or no URL; set VEDETTE_URL, such as http://127.0.0.1:8420")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())) {
		return nil, errors.New("the server's address must be https, or http to this machine; change VEDETTE_URL")
	}
	if o.Token == "" || strings.ContainsAny(o.Token, " \r\n") {
		return nil, errors.New("the token is missing; create one with vedette token create --scope call, and set VEDETTE_TOKEN")
	}
	if o.State == "" {
		return nil, errors.New("the hook needs a folder for prompts")
	}
	o.URL, o.Wait = strings.TrimRight(o.URL, "/"), cmp.Or(o.Wait, DefaultWait)
	if o.Client == nil {
		o.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	return &Hook{o: o, prompts: prompts{o.State}}, nil
}

// answer is what the server says of a call; see POST /v1/calls.
type answer struct {
	ID        string          `json:"id"`
	State     string          `json:"state"`
	Approval  string          `json:"approval"`
	Link      string          `json:"link"`
	Warrant   string          `json:"warrant"`
	Arguments json.RawMessage `json:"arguments"`
	Refusal   struct {
		Why string `json:"why"`
		Do  string `json:"do"`
	} `json:"refusal"`
}

// Answer reads an event, asks the server, and writes what Claude Code shall do. After an error of
// an event before a tool the tool must not run: end with status 2.
func (h *Hook) Answer(ctx context.Context, in io.Reader, out io.Writer) error {
	e, err := awaitEvent(ctx, in)
	if err != nil {
		return err
	}
	switch e.Name {
	case onPrompt:
		return h.prompts.write(e.Session, e.Prompt)
	case afterTool, afterFailed:
		return h.report(ctx, &e)
	}
	a, err := h.ask(ctx, &e)
	if err != nil {
		return err
	}
	if refuse(&e, a) == "" {
		if err := h.prompts.writeCall(e.Session, e.ToolUse, a.ID); err != nil {
			return err
		}
	}
	return writeDecision(out, &e, a)
}

// ask proposes the call until it is decided, or the time for a person is over.
func (h *Hook) ask(ctx context.Context, e *event) (a answer, err error) {
	end := time.Now().Add(h.o.Wait)
	for {
		left := time.Until(end)
		if a, err = h.propose(ctx, e, max(0, min(left, oneWait))); err != nil || a.State != "pending" || left < time.Second {
			return a, err
		}
	}
}

func (h *Hook) propose(ctx context.Context, e *event, wait time.Duration) (a answer, err error) {
	skill, ok := skills.NameTool(e.Tool)
	if !ok {
		return a, errors.New("the tool's name is too long for a skill")
	}
	input := e.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	// The arguments go along byte by byte: a duplicate key in them is the server's to refuse.
	body := struct {
		Conversation string          `json:"conversation"`
		CallID       string          `json:"call_id"`
		Skill        string          `json:"skill_name"`
		Agent        string          `json:"agent_id"`
		Request      string          `json:"original_request,omitempty"`
		Wait         int             `json:"wait_seconds"`
		Arguments    json.RawMessage `json:"arguments"`
	}{e.Session, e.ToolUse, skill, "claude-code", "", int(wait / time.Second), input}
	if body.Request, err = h.prompts.read(e.Session); err != nil {
		return a, err
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return a, errors.New("the tool's input is no JSON")
	}
	if err := h.post(ctx, "/v1/calls", raw, wait, &a); err != nil {
		return a, err
	}
	if a.ID == "" || a.State == "" {
		return a, errors.New("the server's answer is not understood; look at its version")
	}
	return a, nil
}

// report tells what became of a call.
func (h *Hook) report(ctx context.Context, e *event) error {
	id, err := h.findCall(ctx, e)
	if err != nil {
		return err
	}
	outcome, result := "ok", string(e.Response)
	if e.Name == afterFailed {
		outcome, result = "failed", e.Error
	}
	var words string
	if json.Unmarshal(e.Response, &words) == nil && e.Name == afterTool {
		result = words
	}
	for _, most := range resultSizes {
		var raw []byte
		raw, err = json.Marshal(map[string]string{"outcome": outcome, "result": textcut.Head(result, most)})
		if err != nil {
			return errors.New("the tool's result can't be written as JSON")
		}
		if err = h.post(ctx, "/v1/calls/"+url.PathEscape(id)+"/outcome", raw, 0, nil); !errors.Is(err, errTooLarge) {
			break
		}
	}
	if err == nil {
		h.prompts.forgetCall(e.Session, e.ToolUse)
	}
	return err
}

// findCall returns the server's id of a call: as it was kept when the call was allowed, else by proposing
// it again, which changes nothing. A prompt that came meanwhile would make it another call.
func (h *Hook) findCall(ctx context.Context, e *event) (string, error) {
	id, err := h.prompts.readCall(e.Session, e.ToolUse)
	if err != nil || id != "" {
		return id, err
	}
	a, err := h.propose(ctx, e, 0)
	return a.ID, err
}

// errTooLarge is a body that the server doesn't take.
var errTooLarge = errors.New("the server answered 413; raise its server.limits.body")

// post sends JSON and reads the body of a 200. The error holds no address and no token.
func (h *Hook) post(ctx context.Context, path string, body []byte, wait time.Duration, into any) error {
	ctx, cancel := context.WithTimeout(ctx, wait+askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.o.URL+path, bytes.NewReader(body))
	if err != nil {
		return errors.New("the server's address can't be used; change VEDETTE_URL")
	}
	req.Header.Set("Authorization", "Bearer "+h.o.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := h.o.Client.Do(req)
	if err != nil {
		return errors.New("the server can't be asked; start it with vedette serve, and look at VEDETTE_URL")
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil || len(raw) > maxAnswer {
		return errors.New("the server's answer broke off or is too long")
	}
	if res.StatusCode == http.StatusRequestEntityTooLarge {
		return errTooLarge
	}
	if res.StatusCode != http.StatusOK {
		var p struct {
			Code string `json:"code"`
		}
		_ = json.Unmarshal(raw, &p) // its status says enough
		return fmt.Errorf("the server answered %d %s; look at the token's scope and at its log", res.StatusCode,
			textcut.Head(cleanWord(p.Code), 64))
	}
	if into != nil && json.Unmarshal(raw, into) != nil {
		return errors.New("the server's answer is not understood; look at its version")
	}
	return nil
}

// cleanWord leaves nothing in a code but letters, digits, "_" and ".".
func cleanWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, s)
}

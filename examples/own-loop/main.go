// Own-loop is an agent loop of its own that asks Vedette before each call, runs it, and reports. It needs
// nothing but HTTP. Calls come from standard input, a line each, where a program would have its model:
//
//	vedette serve &
//	export VEDETTE_TOKEN=$(vedette token create loop --user ann --scope call)
//	echo '{"id":"1","skill":"crm.update","arguments":{"id":"x","note":"moved"}}' | go run .
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"time"
)

// answer is what the server says of a call. Without a warrant nothing runs.
type answer struct {
	ID, State, Warrant, Link string
	Arguments                json.RawMessage
	Refusal                  struct{ Why, Do string }
}

// proposal is a call that the model wants.
type proposal struct {
	ID        string          `json:"id"`
	Skill     string          `json:"skill"`
	Arguments json.RawMessage `json:"arguments"`
}

// loop is one conversation with a server.
type loop struct {
	url, token, conversation string
	tools                    map[string]func(json.RawMessage) (string, error)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l := loop{url: "http://127.0.0.1:8420", token: os.Getenv("VEDETTE_TOKEN"), conversation: "own-loop"}
	if url := os.Getenv("VEDETTE_URL"); url != "" {
		l.url = url
	}
	l.tools = map[string]func(json.RawMessage) (string, error){"crm.update": updateCustomer}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var p proposal
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			fmt.Println("this line is no call:", err)
			continue
		}
		fmt.Println(l.call(ctx, p)) // what the model reads
	}
}

// call takes one call through Vedette. Any trouble before it runs means that it does not run.
func (l *loop) call(ctx context.Context, p proposal) string {
	run, known := l.tools[p.Skill]
	if !known {
		return "there is no such tool"
	}
	a, err := l.propose(ctx, p)
	switch {
	case err != nil:
		return "not run: " + err.Error()
	case a.State != "allowed" || a.Warrant == "":
		return fmt.Sprintf("not run (%s): %s; %s", a.State, a.Refusal.Why, a.Refusal.Do)
	}
	result, err := run(a.Arguments) // these, since a rule may have changed what was proposed
	outcome := map[string]string{"outcome": "ok", "result": result}
	if err != nil {
		result = "it failed: " + err.Error()
		outcome = map[string]string{"outcome": "failed", "result": result}
	}
	if err := l.post(ctx, "/v1/calls/"+a.ID+"/outcome", outcome, nil); err != nil {
		fmt.Fprintln(os.Stderr, "the outcome was not reported, so Vedette will take it for unknown:", err)
	}
	return result
}

// propose asks about a call, and again for as long as a person is asked.
func (l *loop) propose(ctx context.Context, p proposal) (a answer, err error) {
	body := map[string]any{
		"conversation": l.conversation, "call_id": p.ID, "skill_name": p.Skill, "arguments": p.Arguments, "wait_seconds": 20,
	}
	for shown := false; ; shown = true {
		a = answer{}
		if err = l.post(ctx, "/v1/calls", body, &a); err != nil || a.State != "pending" {
			return a, err
		}
		if !shown {
			fmt.Fprintln(os.Stderr, "a person is asked:", a.Link)
		}
	}
}

// post sends JSON. Anything but a 200 is an error.
func (l *loop) post(ctx context.Context, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+l.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return errors.New("vedette can't be asked; start it with vedette serve")
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if raw, err = io.ReadAll(io.LimitReader(res.Body, 4<<20)); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		var p struct{ Detail string }
		_ = json.Unmarshal(raw, &p) // its status says enough
		return fmt.Errorf("vedette answered %d %s", res.StatusCode, p.Detail)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// updateCustomer stands for a tool of the program's own.
func updateCustomer(args json.RawMessage) (string, error) {
	var in struct{ ID, Note string }
	if err := json.Unmarshal(args, &in); err != nil {
		return "", err
	}
	return "the record of " + in.ID + " is changed", nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// question is what the keeper's approver sends to the person, and said what the
// person answers.
type (
	question struct {
		Call, Decision string
		Asked, Expires time.Time
	}
	said struct {
		Yes bool
		By  string
	}
)

// webApprover asks a person by HTTP. What breaks the line is no answer.
type webApprover struct{ url string }

// Approve asks and waits until ctx ends.
func (a webApprover) Approve(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
	body, err := json.Marshal(question{c.Proposed().ID(), d.ID, d.Asked, d.Expires})
	if err != nil {
		return sentinel.Verdict{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url, bytes.NewReader(body))
	if err != nil {
		return sentinel.Verdict{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return sentinel.Verdict{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	var s said
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil || resp.StatusCode != http.StatusOK {
		return sentinel.Verdict{}, errors.Join(err, fmt.Errorf("the person's page answered %d", resp.StatusCode))
	}
	v := sentinel.Pass()
	if !s.Yes {
		v = sentinel.Refuse("approval.denied", "the person said no")
	}
	v.Meta = map[string]string{"by": s.By, "via": "web"}
	return v, nil
}

// keepInput names the file that is kept.
type keepInput struct {
	Path string `json:"path" jsonschema_extras:"x-path=true"`
}

// runKeeper is the program that the tests stop and start: answer of main.go, with
// a Go skill that leaves a line for each run and a person who is asked by HTTP.
func runKeeper(dir string) int {
	keep, err := skills.Func(
		skills.Spec{Name: "report.keep", Description: "Keep a report.", Effect: skills.Modify, Reaches: "self", Output: skills.Trusted},
		func(_ context.Context, in keepInput) (string, error) {
			f, err := os.OpenFile(filepath.Join(dir, "runs.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			_, err = fmt.Fprintln(f, in.Path)
			return "the report is kept", errors.Join(err, f.Close())
		})
	if err == nil {
		err = answer(filepath.Join(dir, "vedette.yaml"), orchestrator.Request{ID: "r1", Text: "keep the report"}, orchestrator.Options{
			Skills: []*skills.GoSkill{keep}, Approver: webApprover{os.Getenv("EMBED_PERSON")}, NoReview: true,
			Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

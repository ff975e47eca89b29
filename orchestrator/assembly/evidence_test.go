package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/telemetry"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/skills"
)

// correspondence is an address book, whose record holds a canary, and a skill that writes to
// people and fails.
func correspondence() []assembly.Native {
	find := func(context.Context, skills.Order) (skills.Result, error) {
		return skills.Result{Content: `{"name":"Eva Lund","team":"` + canary + `","email":"lund@quay.test"}`, Trust: skills.Trusted}, nil
	}
	send := func(context.Context, skills.Order) (skills.Result, error) {
		return skills.Result{}, &skills.Failure{Code: skills.FailFailed, Err: errors.New("the post is closed")}
	}
	return []assembly.Native{
		{Run: find, Spec: skills.Spec{Name: "contacts.find", Effect: skills.Read, Output: skills.Trusted, Run: skills.Run{Kind: "native"},
			Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}},
		{Run: send, Spec: skills.Spec{Name: "letters.send", Effect: skills.Irreversible, Reaches: skills.Others, Run: skills.Run{Kind: "native"},
			Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","x-target":true}}}`)}},
	}
}

// What the evidence quotes reaches the review's model and, sealed, the journal. It stands in no
// ledger, log, metric or error, whether the review approves or rejects. (Invariant 7.)
func TestQuotesAreInTheJournalAlone(t *testing.T) {
	for _, decision := range []string{"approve", "reject"} {
		t.Run(decision, func(t *testing.T) {
			srv := serve(t, `rules: [{reply: {content: '{"decision":"`+decision+`","reason":"x"}'}}]`)
			file := write(t, "models: {a: {model: m, base_url: \""+srv.BaseURL()+"\"}}\nroles: {sentinel: a}\n"+
				"judge: {threshold: 0, ask_below: 0}\nsentinel: {canaries: {every: 0s}, modes: {effect: {read: \"off\"}}}\n")
			logs, metrics := &buffer{}, telemetry.NewMetrics(telemetry.Names{}, func() telemetry.State { return telemetry.State{} })
			p := build(t, file, assembly.Options{Natives: correspondence(), Log: logs.logger(), Observe: metrics.Event, ObserveReview: metrics,
				ObserveRecord: metrics.Record})
			desk := p.Checkpoint.Desk(grant(t, "Write to Eva Lund", "contacts.find", "letters.send"))
			_, err := desk.Invoke(t.Context(), "contacts.find", json.RawMessage(`{"name":"Eva"}`))
			require.NoError(t, err)
			res, err := desk.Invoke(t.Context(), "letters.send", json.RawMessage(`{"to":"lund@quay.test"}`))
			require.Error(t, err)
			require.NotContains(t, fmt.Sprintf("%v %+v %+v", err, err, res), canary)

			require.Len(t, srv.Requests(), 1)
			require.Contains(t, string(srv.Requests()[0]), canary, "the model is shown the record")
			quoted, err := p.Journal.Find(t.Context(), journal.Query{Kind: "evidence"})
			require.NoError(t, err)
			require.Len(t, quoted, 1)
			require.Contains(t, string(quoted[0].Data), canary)

			requireNowhere(t, filepath.Dir(file), "vedette-keys")
			require.NotContains(t, strings.ToLower(logs.String()), strings.ToLower(canary))
			reg := prometheus.NewRegistry()
			require.NoError(t, reg.Register(metrics))
			families, err := reg.Gather()
			require.NoError(t, err)
			require.NotEmpty(t, families)
			require.NotContains(t, strings.ToLower(fmt.Sprint(families)), strings.ToLower(canary))
		})
	}
}

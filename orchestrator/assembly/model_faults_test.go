package assembly_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// badDay is one thing that goes wrong with the model's server, and the failure
// that the review makes of it.
type badDay struct {
	fault scripted.Fault
	want  review.Failure
	// down: nobody listens. before: a call of another user failed likewise just now.
	down, before bool
	// again: the model is asked once more in other words.
	again bool
}

// asked is how often the model is asked about one call.
func (d badDay) asked() int {
	if d.again {
		return 2
	}
	return 1
}

// badDays are all faults of the server but those of streams, which the review
// doesn't ask for.
func badDays() []badDay {
	return []badDay{
		{want: review.Connect, down: true},
		{want: review.Connect, fault: scripted.Reset, before: true},
		{want: review.LoneConnect, fault: scripted.Reset},
		{want: review.Connect, fault: scripted.Cut, before: true},
		{want: review.Connect, fault: scripted.ResetMidBody, before: true},
		{want: review.LoneConnect, fault: scripted.ResetMidBody},
		{want: review.Connect, fault: scripted.ShortBody, before: true},
		{want: review.Connect, fault: scripted.HugeHeaders, before: true},
		{want: review.LoneTimeout, fault: scripted.Hang},
		{want: review.Timeout, fault: scripted.Hang, before: true},
		{want: review.Timeout, fault: scripted.HangMidBody, before: true},
		{want: review.Timeout, fault: scripted.Drip, before: true},
		{want: review.RateLimited, fault: scripted.RateLimited, before: true},
		{want: review.LoneRateLimited, fault: scripted.RateLimited},
		{want: review.RateLimited, fault: scripted.RateLimitedDate, before: true},
		{want: review.Quota, fault: scripted.QuotaSpent, before: true},
		{want: review.LoneQuota, fault: scripted.QuotaSpent},
		{want: review.Server, fault: scripted.ServerError, before: true},
		{want: review.LoneServer, fault: scripted.ServerError},
		{want: review.Server, fault: scripted.BadGateway, before: true},
		{want: review.Server, fault: scripted.Overloaded, before: true},
		{want: review.LoneServer, fault: scripted.Overloaded},
		{want: review.Refusal, fault: scripted.Refusal},
		{want: review.ContentFilter, fault: scripted.ContentFilter},
		{want: review.ContentFilter, fault: scripted.ContentPolicy},
		{want: review.ContentFilter, fault: scripted.PromptFiltered},
		{want: review.Length, fault: scripted.Length},
		{want: review.Empty, fault: scripted.Empty},
		{want: review.Empty, fault: scripted.Null},
		{want: review.BadShape, fault: scripted.NoChoices, again: true},
		{want: review.Fields, fault: scripted.WrongShape, again: true},
		{want: review.Fields, fault: scripted.DuplicateKeys, again: true},
		{want: review.Fields, fault: scripted.ExtraField, again: true},
		{want: review.Value, fault: scripted.WrongValue, again: true},
		{want: review.BadShape, fault: scripted.ErrorBody, again: true},
		{want: review.BadShape, fault: scripted.OtherBody, again: true},
		{want: review.BadShape, fault: scripted.Oversized, again: true},
		{want: review.BadShape, fault: scripted.GzipBomb, again: true},
		{want: review.NotJSON, fault: scripted.NotJSON, again: true},
		{want: review.NotJSON, fault: scripted.TruncatedJSON, again: true},
		{want: review.NotJSON, fault: scripted.HTML, again: true},
		{want: review.NotJSON, fault: scripted.WrongType, again: true},
		{want: review.NotJSON, fault: scripted.InvalidUTF8, again: true},
		{want: review.Prose, fault: scripted.Prose, again: true},
		{want: review.Fenced, fault: scripted.Fence, again: true},
		{want: review.TwoObjects, fault: scripted.TwoObjects, again: true},
		{want: review.Auth, fault: scripted.Unauthorized},
		{want: review.Auth, fault: scripted.Forbidden},
		{want: review.BadRequest, fault: scripted.BadRequest},
		{want: review.BadRequest, fault: scripted.Echo},
		{want: review.BadRequest, fault: scripted.RequestTimeout},
		{want: review.BadRequest, fault: scripted.Conflict},
		{want: review.BadRequest, fault: scripted.Redirect},
		{want: review.TooLong, fault: scripted.ContextLength},
		// Another model's name on an answer is common (an alias became a version).
		{fault: scripted.OtherModel},
	}
}

// Every fault of a model's server, through the whole checkpoint: the failure
// that is on record and how often the model was asked, and that of the server's
// words nothing comes through. A read goes on where no model could be reached;
// what follows for other calls, and what is counted, a test of the orchestrator
// says.
func TestFaultsThroughTheCheckpoint(t *testing.T) {
	good := map[scripted.Fault]bool{}
	for i, d := range badDays() {
		good[d.fault] = true
		t.Run(fmt.Sprintf("%02d_%s_%s", i, d.want, d.fault), d.pass)
	}
	for _, f := range scripted.Faults() {
		require.True(t, good[f] || f.NeedsStream(), "no row has the fault %s", f)
	}
}

func (d badDay) pass(t *testing.T) {
	p, srv := d.house(t)
	asked := len(srv.Requests())
	res, err := d.invoke(t, p, "ann")
	runs := d.want == "" || d.want.Unavailable()
	d.checkAgent(t, res, err, runs)
	d.checkRecord(t, p.Config, runs)
	arrived := d.asked()
	if d.down {
		arrived = 0
	}
	require.Equal(t, arrived, len(srv.Requests())-asked, "requests to the model")
}

const failureSkills = `skills:
  - name: self.read
    effect: read
    reaches: self
    output: trusted
    parameters: {type: object, properties: {note: {type: string, x-content: true}}}
    run: {template: "done"}
`

// house builds everything from a file, against a server that has a bad day.
func (d badDay) house(t *testing.T) (*assembly.Parts, *scripted.Server) {
	t.Helper()
	script, err := scripted.Load([]byte(`rules: [{reply: {content: '{"decision":"approve","reason":"canary"}'}}]`))
	require.NoError(t, err)
	srv, err := scripted.Serve(t.Context(), script, scripted.Options{Pace: 20 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(failureSkills), 0o600))
	// A timeout takes its time; every other answer comes at once, however slow
	// the machine.
	timeout := "20s"
	if slices.Contains([]scripted.Fault{scripted.Hang, scripted.HangMidBody, scripted.Drip}, d.fault) {
		timeout = "100ms"
	}
	text := `version: 1
models: {fast: {model: plain, base_url: "` + srv.BaseURL() + `"}}
roles: {sentinel: fast}
skills: {include: ["skills.yaml"]}
judge: {threshold: 0, ask_below: 0}
sentinel: {timeout: ` + timeout + ", retries: 0, cache_ttl: 0s, canaries: {every: 0s}, breaker: {failures: 1000}}\n"
	file := filepath.Join(dir, "vedette.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	p := build(t, file, assembly.Options{})
	switch {
	case d.down:
		srv.Down()
	case d.fault != "":
		srv.FaultWhen(nil, d.fault)
	}
	if d.before {
		_, err := d.invoke(t, p, "bob")
		t.Logf("before: %v", err)
	}
	return p, srv
}

func (d badDay) invoke(t *testing.T, p *assembly.Parts, user string) (skills.Result, error) {
	t.Helper()
	return p.Checkpoint.Desk(nextTurn(t, user)).Invoke(t.Context(), "self.read", json.RawMessage(`{"note":"canary"}`))
}

// turns counts the turns of nextTurn.
var turns atomic.Int64

// nextTurn is the grant of a turn of its own.
func nextTurn(t *testing.T, user string) sentinel.Grant {
	t.Helper()
	scope, err := skills.NewScope("self.*")
	require.NoError(t, err)
	request, n := "do it", turns.Add(1)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: fmt.Sprintf("g%d", n), User: user, Conversation: "c1", Turn: fmt.Sprintf("t%d", n), Agent: "helper",
		Mission: "do what was asked", MissionBy: sentinel.ByOrchestrator, Scope: scope, Request: &request,
	})
	require.NoError(t, err)
	return g
}

// checkAgent looks at what the agent was told: the result, or a refusal that says
// nothing of the model's words.
func (d badDay) checkAgent(t *testing.T, res skills.Result, err error, runs bool) {
	t.Helper()
	if runs {
		require.NoError(t, err)
		require.Equal(t, "done", res.Content)
		return
	}
	var r *skills.Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, skills.KindAskDenied, r.Kind)
	require.Equal(t, sentinel.GateApproval, r.Gate)
	require.Equal(t, "approval.nobody", r.Code) // who could be asked is another matter
	require.NotContains(t, r.Reason, "canary")
}

func (d badDay) code(runs bool) string {
	switch {
	case d.want == "":
		return ""
	case !d.want.Unavailable():
		return review.CodeUnjudgeable
	case runs:
		return review.CodeDegraded
	}
	return review.CodeUnavailable
}

// decided is what the ledger holds of a decision.
type decided struct {
	Degraded, Started bool
	Outcome, Code     string
	Gates             []struct {
		Gate, State, Outcome, Code, Reason string
		Degraded                           bool
		Meta                               map[string]string
	}
}

// checkRecord looks at the newest decision in the ledger.
func (d badDay) checkRecord(t *testing.T, cfg *config.Config, runs bool) {
	t.Helper()
	all := records(t, cfg, ledger.Query{Kind: sentinel.RecordDecision, Limit: 1000})
	last := all[len(all)-1]
	require.NotContains(t, string(last.Body), "canary")
	var b decided
	require.NoError(t, json.Unmarshal(last.Body, &b))
	degraded := runs && d.want != ""
	require.Equal(t, runs, b.Started)
	require.Equal(t, degraded, b.Degraded)
	for _, g := range b.Gates {
		if g.Gate != sentinel.GateReview {
			continue
		}
		require.Equal(t, "judged", g.State)
		require.Equal(t, map[bool]string{true: "allow", false: "ask"}[runs], g.Outcome)
		require.Equal(t, d.code(runs), g.Code)
		require.Equal(t, string(d.want), g.Meta["failure"])
		require.Equal(t, strconv.Itoa(d.asked()), g.Meta["attempts"])
		return
	}
	t.Fatal("the record does not account for the review")
}

package handover_test

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// TestMain has a quarter of the random histories, each with a house of its own, unless ./test -long or
// -rapid.checks asks for more.
func TestMain(m *testing.M) {
	if os.Getenv("VEDETTE_LONG") == "" {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// clock is a clock that a test moves.
type clock struct {
	mu   sync.Mutex
	at   time.Time
	read func()
}

// onRead has f called whenever the clock is read.
func (c *clock) onRead(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = f
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read != nil {
		c.read()
	}
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// office is a house that hands over calls, whose process can end and start again with other rules.
type office struct {
	*assembly.Parts
	t     testing.TB
	dir   string
	clock *clock
}

// ledgerAll asks for all records.
var ledgerAll ledger.Query

// officeInbox are the settings of the inbox where a test brings none.
const officeInbox = "approvals: {inbox: true, timeout: 5m}\n"

const officeHead = `version: 1
skills:
  include: ["skills/*.yaml"]
  known:
    - name: crm.update
      description: Change a customer's record.
      effect: modify
      reaches: self
      output: untrusted
      timeout: 30s
      parameters:
        type: object
        required: [id]
        additionalProperties: false
        properties: {id: {type: string, x-target: true}, note: {type: string}, file: {type: string, x-path: true}}
    - name: crm.read
      description: Read a customer's record.
      effect: read
      reaches: self
      output: trusted
      parameters: {type: object, additionalProperties: false, properties: {id: {type: string, x-target: true}}}
    - name: web.fetch
      description: Read a page.
      effect: read
      output: untrusted
      parameters: {type: object, additionalProperties: false, properties: {page: {type: string}}}
    - name: paper.send
      description: Send a paper.
      effect: irreversible
      reaches: others
      output: untrusted
      parameters:
        type: object
        additionalProperties: false
        properties: {to: {type: string, x-target: true}, file: {type: string, x-path: true}}
sentinel: {mode: "off"}
guard: {roots: ["./workspace"]}
approvals: {inbox: true, timeout: 5m}
limits: {agent: {calls: 500}, turn: {calls: 500}, conversation: {calls: 2000}}
`

const (
	lenient = "judge: {threshold: 0, ask_below: 0}\n"
	asks    = lenient + "permissions: [{skill: \"crm.update\", then: ask}, {skill: \"paper.send\", then: ask}]\n"
	denies  = lenient + "permissions: [{skill: \"crm.update\", then: deny, reason: \"not today\"}]\n"
)

func openOffice(t testing.TB, settings string) *office {
	t.Helper()
	o := newOffice(t)
	o.start(settings)
	t.Cleanup(func() { require.NoError(t, o.Close()) })
	return o
}

// newOffice makes the folders of an office, in which no process runs.
func newOffice(t testing.TB) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir(), clock: &clock{at: time.Now().Truncate(time.Second)}}
	require.NoError(t, os.MkdirAll(filepath.Join(o.dir, "workspace"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(o.dir, "skills"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(o.dir, "skills", "s.yaml"), []byte(
		"name: here.echo\ndescription: Echo.\neffect: read\nparameters: {type: object, properties: {}}\n"+
			"run: {template: \"hello\"}\n"), 0o600))
	return o
}

// start starts a process with these settings.
func (o *office) start(settings string) {
	o.t.Helper()
	file := filepath.Join(o.dir, "vedette.yaml")
	head := officeHead
	if strings.Contains(settings, "approvals:") {
		head = strings.Replace(head, officeInbox, "", 1)
	}
	require.NoError(o.t, os.WriteFile(file, []byte(head+settings), 0o600))
	cfg, err := config.Load(file, config.Options{})
	require.NoError(o.t, err)
	o.Parts, err = assembly.Build(context.Background(), cfg, assembly.Options{Now: o.clock.now, Maintain: make(chan time.Time)})
	require.NoError(o.t, err)
}

// restart ends the process and starts another.
func (o *office) restart(settings string) {
	o.t.Helper()
	require.NoError(o.t, o.Close())
	o.start(settings)
}

// proposal is the call of most tests.
func proposal() handover.Proposal {
	said := "Put a note on customer c7, please."
	return handover.Proposal{
		Principal: "token:a", User: "ann", Conversation: "talk", CallID: "call_1", Skill: "crm.update",
		Arguments: json.RawMessage(`{"id":"c7","note":"likes tea"}`), Request: &said, RequestHuman: true,
	}
}

func (o *office) propose(p handover.Proposal) handover.Answer {
	o.t.Helper()
	a, err := o.Handover.Propose(context.Background(), p)
	require.NoError(o.t, err)
	if a.State == handover.Pending && a.Approval != "" { // a person who is told the id finds the question at once
		_, err := o.Inbox.Show(context.Background(), a.Approval)
		require.NoError(o.t, err)
	}
	return a
}

func (o *office) report(id string, outcome handover.State, text string) handover.Answer {
	o.t.Helper()
	a, err := o.Handover.Report(context.Background(), handover.Report{Principal: "token:a", ID: id, Outcome: outcome, Result: text})
	require.NoError(o.t, err)
	return a
}

// answer answers the question about a call.
func (o *office) answer(id string, word approval.Word) {
	o.t.Helper()
	_, err := o.Inbox.Answer(context.Background(), approval.Answer{Approval: id, Word: word, By: "bob", Via: "test"})
	require.NoError(o.t, err)
}

// waiting is the proposal of a caller that waits for a person.
func waiting(p handover.Proposal) handover.Proposal {
	p.Wait = time.Minute
	return p
}

// claims are what a warrant says, as a receiver reads it.
func (o *office) claims(token, body, audience string) warrant.Claims {
	o.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(body))
	require.NoError(o.t, err)
	r.Header.Set(warrant.Header, token)
	c, err := warrant.VerifyHTTP(r, warrant.VerifyOptions{
		Key: o.Keys.WarrantPublic(), Audience: audience, Now: o.clock.now,
		Seen: func(context.Context, string, time.Time) (bool, error) { return true, nil },
	})
	require.NoError(o.t, err)
	return c
}

// records returns the records of a call of one kind.
func (o *office) records(id, kind string) []ledger.Record {
	o.t.Helper()
	list, err := o.Ledger.List(context.Background(), ledger.Query{Call: id, Kind: kind})
	require.NoError(o.t, err)
	return list
}

// allowances counts how often a call was allowed on record.
func (o *office) allowances(id string) (n int) {
	for _, r := range o.records(id, sentinel.RecordDecision) {
		if r.Outcome == sentinel.Allow.String() {
			n++
		}
	}
	return n
}

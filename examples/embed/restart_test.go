//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// How long a test waits for what must come, a little less than the watchdog does, and how often it looks.
const (
	eventually = 4 * time.Minute
	tick       = 5 * time.Millisecond
)

// house is the keeper's folder with the model and the person outside of it: both
// outlive the keeper's processes.
type house struct {
	t         *testing.T
	dir, file string
	asked     chan question
	answers   chan said
	person    *httptest.Server
}

// newHouse writes the configuration, with the time that a person has to answer.
func newHouse(t *testing.T, timeout string) *house {
	t.Helper()
	h := &house{t: t, dir: t.TempDir(), asked: make(chan question, 16), answers: make(chan said)}
	h.file = filepath.Join(h.dir, "work", "report.txt")
	require.NoError(t, os.Mkdir(filepath.Dir(h.file), 0o700))
	h.writeReport("as it was shown")
	h.person = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if json.NewDecoder(r.Body).Decode(&q) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		h.asked <- q
		select {
		case s := <-h.answers:
			_ = json.NewEncoder(w).Encode(s)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(h.person.Close)
	script, err := scripted.Load(h.script())
	require.NoError(t, err)
	model, err := scripted.Serve(context.Background(), script, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, "vedette.yaml"), fmt.Appendf(nil, `version: 1
models: {m: {model: m, base_url: "%s", timeout: 20s}}
roles: {orchestrator: m, agent: m, sentinel: m}
judge: {threshold: 0, ask_below: 0}
permissions: [{skill: report.keep, then: ask}]
approvals: {timeout: %s}
ledger: {path: ./v.db}
keys: {dir: ./keys}
`, model.BaseURL(), timeout), 0o600))
	return h
}

// script is what the models say: an agent is dispatched that keeps the report, and
// what came of it is the answer.
func (h *house) script() []byte {
	type m = map[string]any
	tool := func(name string, args m) m { return m{"tool_calls": []m{{"name": name, "arguments": args}}} }
	wait := tool("get_agent_results", m{"mode": "wait_all", "agent_ids": []string{}, "timeout_seconds": 30})
	src, err := json.Marshal(m{"rules": []m{
		{"when": m{"has_tool": "request_help", "tool_results": 0},
			"reply": tool("use_skill", m{"skill": "report.keep", "arguments": m{"path": h.file}})},
		{"when": m{"has_tool": "request_help"}, "reply": m{"content": "{{ .LastTool }}"}},
		{"when": m{"has_tool": "dispatch_agent", "tool_results": 0},
			"reply": tool("dispatch_agent", m{"agent_id": "a", "mission": "keep the report", "skills": []string{"report.keep"}})},
		{"when": m{"has_tool": "dispatch_agent", "tool_results": 1}, "reply": wait},
		{"when": m{"has_tool": "dispatch_agent", "last_contains": "awaiting_approval"}, "reply": wait},
		{"when": m{"has_tool": "dispatch_agent"}, "reply": m{"content": "It came to: {{ .LastTool }}"}},
	}})
	require.NoError(h.t, err)
	return src
}

func (h *house) writeReport(text string) {
	require.NoError(h.t, os.WriteFile(h.file, []byte(text), 0o600))
}

// process is one run of the keeper.
type process struct {
	h    *house
	cmd  *exec.Cmd
	out  bytes.Buffer
	log  bytes.Buffer
	done chan error
}

func (h *house) start() *process {
	h.t.Helper()
	self, err := os.Executable()
	require.NoError(h.t, err)
	p := &process{h: h, cmd: exec.Command(self), done: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), "EMBED_KEEPER="+h.dir, "EMBED_PERSON="+h.person.URL)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	require.NoError(h.t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }()
	h.t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// ends waits for the process to end by itself, in good order, and returns what
// it printed.
func (p *process) ends(within time.Duration) string {
	p.h.t.Helper()
	select {
	case err := <-p.done:
		require.NoError(p.h.t, err, p.log.String())
	case <-time.After(within):
		require.Fail(p.h.t, "the program did not end in time")
	}
	return p.out.String()
}

// terminate ends the process in good order, and kill at once.
func (p *process) terminate() {
	require.NoError(p.h.t, p.cmd.Process.Signal(syscall.SIGTERM))
	require.Empty(p.h.t, p.ends(eventually), "there is no answer yet")
}

func (p *process) kill() {
	require.NoError(p.h.t, p.cmd.Process.Kill())
	require.Error(p.h.t, <-p.done)
}

// question waits until the person is asked.
func (h *house) question() (q question) {
	h.t.Helper()
	select {
	case q = <-h.asked:
	case <-time.After(eventually):
		require.Fail(h.t, "no person was asked")
	}
	return q
}

func (h *house) say(s said) {
	h.t.Helper()
	select {
	case h.answers <- s:
	case <-time.After(eventually):
		require.Fail(h.t, "no question waits for the answer")
	}
}

// records are what the ledger has of the skill's calls.
func (h *house) records() []ledger.Record {
	h.t.Helper()
	r, err := ledger.OpenReader(h.t.Context(), filepath.Join(h.dir, "v.db"))
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, r.Close()) }()
	list, err := r.List(h.t.Context(), ledger.Query{Skill: "report.keep"})
	require.NoError(h.t, err)
	return list
}

func kindsOf(list []ledger.Record) (out []string) {
	for _, r := range list {
		out = append(out, r.Kind)
	}
	return out
}

// runs is how often the skill ran.
func (h *house) runs() int {
	raw, err := os.ReadFile(filepath.Join(h.dir, "runs.log"))
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(h.t, err)
	return strings.Count(string(raw), "\n")
}

// decided checks that the first question's call was decided once, under its id,
// and that the ledger proves. It returns what the decision's record says.
func (h *house) decided(first question) (r ledger.Record, b answerBody) {
	h.t.Helper()
	out, err := runEmbed(h.t, "vedette", "ledger", "verify", "--db", filepath.Join(h.dir, "v.db"), "--key",
		filepath.Join(h.dir, "keys", "ledger.pub"))
	require.NoError(h.t, err, out)
	n := 0
	for _, l := range h.records() {
		require.Equal(h.t, []string{first.Call, first.Decision}, []string{l.Call, l.Decision})
		if l.Kind == sentinel.RecordDecision {
			r, n = l, n+1
		}
	}
	require.Equal(h.t, 1, n, "one decision ends the call")
	require.NoError(h.t, json.Unmarshal(r.Body, &b))
	require.True(h.t, b.Asked.Equal(first.Asked) && b.Expires.Equal(first.Expires), "the times are those of the first question")
	return r, b
}

// answerBody is what the record of a decision says of the answer.
type answerBody struct {
	Asked    time.Time `json:"asked_at"`
	Expires  time.Time `json:"expires_at"`
	Answered time.Time `json:"answered_at"`
	Approver string    `json:"approver"`
	Via      string    `json:"via"`
}

// stops are the ways in which a process ends while a person thinks.
var stops = map[string]func(*process){"SIGTERM": (*process).terminate, "kill -9": (*process).kill}

// A program that ends while a person thinks asks again after the next start, under
// the same call, decision and expiry; what the person says then is what happens,
// once, and the answer to the request is there.
func TestAnsweredAfterRestart(t *testing.T) {
	for how, stop := range stops {
		for answer, yes := range map[string]bool{"yes": true, "no": false} {
			t.Run(how+", then "+answer, func(t *testing.T) {
				h := newHouse(t, "1h")
				p := h.start()
				first := h.question()
				stop(p)
				require.Equal(t, []string{"held"}, kindsOf(h.records()), "the end of a process decides nothing")
				p = h.start()
				again := h.question()
				require.Equal(t, []string{first.Call, first.Decision}, []string{again.Call, again.Decision})
				require.True(t, again.Expires.Equal(first.Expires) && again.Asked.Equal(first.Asked))
				before := time.Now()
				h.say(said{Yes: yes, By: "ann"})
				reply := p.ends(eventually)
				r, b := h.decided(first)
				require.Equal(t, []string{"ann", "web"}, []string{b.Approver, b.Via})
				require.False(t, b.Answered.Before(before.Truncate(time.Millisecond)))
				if yes {
					require.Equal(t, []string{"held", "held", "decision", "outcome"}, kindsOf(h.records()))
					require.Contains(t, reply, "the report is kept")
					require.Equal(t, 1, h.runs())
				} else {
					require.Equal(t, []string{"held", "held", "decision"}, kindsOf(h.records()))
					require.Equal(t, []string{"deny", "approval.denied"}, []string{r.Outcome, r.Code})
					require.Contains(t, reply, skills.KindAskDenied)
					require.Zero(t, h.runs())
				}
				require.Equal(t, reply, h.start().ends(eventually), "sent again it is answered, and not worked on")
				require.Empty(t, h.asked)
				require.LessOrEqual(t, h.runs(), 1)
			})
		}
	}
}

// A question that no person answers in time is over, whether the program is up
// then or not: the skill never runs.
func TestExpiresOverRestarts(t *testing.T) {
	for how, stop := range map[string]func(*process){"up": nil, "down by SIGTERM": (*process).terminate, "down by kill -9": (*process).kill} {
		t.Run(how, func(t *testing.T) {
			timeout := "2s"
			if stop != nil {
				timeout = "8s" // it has to end before
			}
			h := newHouse(t, timeout)
			p := h.start()
			first := h.question()
			if stop != nil {
				stop(p)
				require.Equal(t, []string{"held"}, kindsOf(h.records()))
				require.Eventually(t, func() bool { return time.Now().After(first.Expires) }, eventually, tick)
				p = h.start()
			}
			require.Contains(t, p.ends(eventually), skills.KindAskExpired)
			r, b := h.decided(first)
			require.Equal(t, []string{"deny", sentinel.CodeApprovalExpired}, []string{r.Outcome, r.Code})
			require.Empty(t, b.Approver)
			require.Empty(t, h.asked, "what is over is not asked about again")
			require.Zero(t, h.runs())
		})
	}
}

// A file that was changed while the program was down is not what the person was
// shown: the call is denied, and does not run.
func TestChangedWhileDown(t *testing.T) {
	for how, stop := range stops {
		t.Run(how, func(t *testing.T) {
			h := newHouse(t, "1h")
			p := h.start()
			first := h.question()
			stop(p)
			h.writeReport("as it is by now")
			reply := h.start().ends(eventually)
			require.Contains(t, reply, sentinel.CodeApprovalChanged)
			r, _ := h.decided(first)
			require.Equal(t, []string{"deny", sentinel.CodeApprovalChanged}, []string{r.Outcome, r.Code})
			require.Empty(t, h.asked)
			require.Zero(t, h.runs())
		})
	}
}

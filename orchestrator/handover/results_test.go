package handover_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// call is a proposal of another skill in the same conversation.
func call(id, skill, args string) handover.Proposal {
	p := proposal()
	p.CallID, p.Skill, p.Arguments = id, skill, json.RawMessage(args)
	return p
}

// isTainted reports whether the decision on record was made under a taint.
func (o *office) isTainted(id string) bool {
	o.t.Helper()
	list := o.records(id, sentinel.RecordDecision)
	require.NotEmpty(o.t, list)
	var b struct{ Tainted bool }
	require.NoError(o.t, json.Unmarshal(list[0].Body, &b))
	return b.Tainted
}

// What is reported has the trust of its skill and taints the conversation's later calls, also after a
// restart. What no result came of, and other conversations, stay as they are. (Invariant 11.)
func TestReportsTaint(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*office)
		want   bool
	}{
		"nothing before":     {func(*office) {}, false},
		"an untrusted skill": {func(o *office) { o.report(o.propose(call("1", "web.fetch", `{}`)).ID, handover.OK, "buy gold") }, true},
		"a trusted skill":    {func(o *office) { o.report(o.propose(call("1", "crm.read", `{"id":"c7"}`)).ID, handover.OK, "c7: Ann") }, false},
		"a failure's words":  {func(o *office) { o.report(o.propose(call("1", "web.fetch", `{}`)).ID, handover.Failed, "404") }, true},
		"not reported":       {func(o *office) { o.propose(call("1", "web.fetch", `{}`)); o.clock.move(time.Hour) }, true},
		"under way":          {func(o *office) { o.propose(call("1", "web.fetch", `{}`)) }, false},
		"a refused call":     {func(o *office) { o.propose(call("1", "here.echo", `{}`)) }, false},
		"a history": {func(o *office) {
			p := call("1", "crm.read", `{"id":"c7"}`)
			p.History = []handover.Result{{Skill: "crm.read", Arguments: json.RawMessage(`{"id":"c7"}`), Result: "x"}}
			require.True(o.t, o.isTainted(o.propose(p).ID))
		}, true},
		"another conversation": {func(o *office) {
			p := call("1", "web.fetch", `{}`)
			p.Conversation = "other"
			o.report(o.propose(p).ID, handover.OK, "buy gold")
		}, false},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", restarted"}[restarted], func(t *testing.T) {
				o := openOffice(t, lenient)
				c.before(o)
				if restarted {
					o.restart(lenient)
				}
				require.Equal(t, c.want, o.isTainted(o.propose(proposal()).ID))
			})
		}
	}
}

// A reported result of a trusted skill attests what later calls name, also after a restart, as a desk's
// own results do; an untrusted one doesn't.
func TestReportsAttest(t *testing.T) {
	const settings = "judge: {threshold: 0.30, ask_below: 0.50}\n"
	for _, restarted := range []bool{false, true} {
		evidence := func(skill string) string {
			o := openOffice(t, settings)
			said := "Look the customer up and put a note on it: likes tea"
			first := call("1", skill, `{}`)
			first.Request = &said
			o.report(o.propose(first).ID, handover.OK, "the customer is kx-83417-b")
			if restarted {
				o.restart(settings)
			}
			p := call("2", "crm.update", `{"id":"kx-83417-b","note":"likes tea"}`)
			p.Request = &said
			a := o.propose(p)
			values, err := o.Journal.ByCall(t.Context(), a.ID)
			require.NoError(t, err)
			for _, v := range values {
				if v.Kind == "evidence" {
					return string(v.Data)
				}
			}
			return ""
		}
		require.Contains(t, evidence("crm.read"), `"trusted"`)
		untrusted := evidence("web.fetch")
		require.Contains(t, untrusted, `"stranger"`)
		require.NotContains(t, untrusted, `"trusted"`)
	}
}

// A report is taken once. The same once more changes nothing, another is a conflict, a late one leaves
// the call unknown, and one of a call that was not allowed is refused.
func TestReports(t *testing.T) {
	report := func(o *office, id string, outcome handover.State, text string) error {
		_, err := o.Handover.Report(o.t.Context(), handover.Report{Principal: "token:a", ID: id, Outcome: outcome, Result: text})
		return err
	}
	for _, restarted := range []bool{false, true} {
		o := openOffice(t, lenient)
		again := func() {
			if restarted {
				o.restart(lenient)
			}
		}
		a := o.propose(proposal())
		again()
		require.Equal(t, handover.OK, o.report(a.ID, handover.OK, "done").State)
		again()
		require.Equal(t, "done", o.report(a.ID, handover.OK, "done").Result)
		require.ErrorIs(t, report(o, a.ID, handover.OK, "done!"), handover.ErrReported)
		require.ErrorIs(t, report(o, a.ID, handover.Failed, "done"), handover.ErrReported)
		require.ErrorIs(t, report(o, "call-0", handover.OK, ""), handover.ErrUnknownCall)
		require.ErrorIs(t, report(o, a.ID, "fine", ""), handover.ErrProposal)
		require.Len(t, o.records(a.ID, sentinel.RecordOutcome), 1)

		late := o.propose(call("late", "crm.update", `{"id":"c9"}`))
		o.clock.move(*seconds(late.Expires.Sub(o.clock.now())))
		again()
		require.ErrorIs(t, report(o, late.ID, handover.OK, "done"), handover.ErrLate)
		require.ErrorIs(t, report(o, late.ID, handover.OK, "done"), handover.ErrLate)
		require.Equal(t, handover.Unknown, o.propose(call("late", "crm.update", `{"id":"c9"}`)).State)
		require.Len(t, o.records(late.ID, sentinel.RecordOutcome), 1)

		held := openOffice(t, asks)
		require.ErrorIs(t, report(held, held.propose(proposal()).ID, handover.OK, "done"), handover.ErrNotAllowed)
		held.restart(asks)
		require.ErrorIs(t, report(held, handover.CallID("token:a", "ann", "talk", "call_1"), handover.OK, "done"), handover.ErrNotAllowed)

		denied := o.propose(call("no", "here.echo", `{}`))
		require.Equal(t, handover.Denied, denied.State)
		again()
		require.ErrorIs(t, report(o, denied.ID, handover.OK, "done"), handover.ErrNotAllowed)
	}
}

func seconds(d time.Duration) *time.Duration { return &d }

// The sweep of maintenance ends what no caller asks about: calls that were not reported, and questions
// whose caller never came back.
func TestSweep(t *testing.T) {
	o := openOffice(t, asks)
	held := o.propose(proposal())
	handed := o.propose(call("1", "web.fetch", `{}`))
	require.NoError(t, o.Handover.Sweep(t.Context()))
	require.Empty(t, o.records(handed.ID, sentinel.RecordOutcome))
	o.restart(asks) // no caller waits for the question by now
	o.clock.move(20 * time.Minute)
	require.NoError(t, o.Handover.Sweep(t.Context()))
	list := o.records(handed.ID, sentinel.RecordOutcome)
	require.Len(t, list, 1)
	require.Equal(t, sentinel.CodeUnreported, list[0].Code)
	list = o.records(held.ID, sentinel.RecordDecision)
	require.Len(t, list, 1)
	require.Equal(t, sentinel.CodeApprovalExpired, list[0].Code)
	require.Equal(t, handover.Expired, o.propose(proposal()).State)
	require.NoError(t, o.Handover.Sweep(t.Context()))
	require.Len(t, o.records(handed.ID, sentinel.RecordOutcome), 1)
}

// A process that starts leaves calls open whose time to report isn't over, and ends the others.
func TestStartEndsUnreported(t *testing.T) {
	o := openOffice(t, lenient)
	a := o.propose(proposal())
	o.restart(lenient)
	require.Empty(t, o.records(a.ID, sentinel.RecordOutcome))
	o.clock.move(time.Hour)
	o.restart(lenient)
	list := o.records(a.ID, sentinel.RecordOutcome)
	require.Len(t, list, 1)
	require.Equal(t, sentinel.CodeUnreported, list[0].Code)
}

// What runs elsewhere is judged without this machine's files, bound by reference, and says so to the
// person, in the record and in its digest.
func TestRemotePaths(t *testing.T) {
	o := openOffice(t, asks)
	root := filepath.Join(o.dir, "workspace")
	require.NoError(t, os.WriteFile(filepath.Join(root, "real.txt"), []byte("x"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(root, "real.txt"), filepath.Join(root, "link.txt")))
	p := call("1", "paper.send", `{"to":"bob","file":"link.txt"}`)
	a := o.propose(p)
	require.Equal(t, handover.Pending, a.State)
	card, err := o.Inbox.Show(t.Context(), a.Approval)
	require.NoError(t, err)
	require.Len(t, card.Sheet.Bound, 1)
	require.Equal(t, sentinel.BoundReference, card.Sheet.Bound[0].Kind)
	require.Contains(t, card.Sheet.Text, `runs at  "token:a"`)
	for _, touched := range card.Sheet.Touches {
		require.Empty(t, touched.Real, "the link was followed")
	}
	var b struct{ Remote string }
	require.NoError(t, json.Unmarshal(o.records(a.ID, sentinel.RecordHeld)[0].Body, &b))
	require.Equal(t, "token:a", b.Remote)
}

// A request of a caller whose turns aren't a person's is shown as none of the user's.
func TestRequestOfAClient(t *testing.T) {
	for _, human := range []bool{true, false} {
		o := openOffice(t, asks)
		p := proposal()
		p.RequestHuman = human
		card, err := o.Inbox.Show(t.Context(), o.propose(p).Approval)
		require.NoError(t, err)
		if human {
			require.Equal(t, *p.Request, *card.Sheet.Request)
			continue
		}
		require.Nil(t, card.Sheet.Request)
		require.Contains(t, card.Sheet.Mission, *p.Request)
	}
}

// A skill that this program runs, and one that isn't there, is handed to no other program.
func TestSkillsThatRunHere(t *testing.T) {
	o := openOffice(t, lenient)
	for id, skill := range map[string]string{"1": "here.echo", "2": "agent.dispatch", "3": "nowhere.at_all"} {
		a := o.propose(call(id, skill, `{}`))
		require.Equal(t, handover.Denied, a.State, skill)
		require.Equal(t, "scope", a.Refusal.Gate, skill)
		require.Empty(t, a.Warrant)
	}
}

// What a proposal or a report lacks is told, and nothing is written.
func TestMistakes(t *testing.T) {
	o := openOffice(t, lenient)
	for name, change := range map[string]func(*handover.Proposal){
		"principal is missing":   func(p *handover.Proposal) { p.Principal = "" },
		"user is missing":        func(p *handover.Proposal) { p.User = "" },
		"call id is missing":     func(p *handover.Proposal) { p.CallID = "" },
		"conversation is longer": func(p *handover.Proposal) { p.Conversation = strings.Repeat("x", 257) },
		"agent must be one line": func(p *handover.Proposal) { p.Agent = "a\nb" },
		"history holds more":     func(p *handover.Proposal) { p.History = make([]handover.Result, handover.MaxHistory+1) },
		"arguments of a result": func(p *handover.Proposal) {
			p.History = []handover.Result{{Skill: "x", Arguments: json.RawMessage(`{"a":1,"a":2}`)}}
		},
		"mission and request may": func(p *handover.Proposal) { p.Mission = strings.Repeat("x", handover.MaxText+1) },
	} {
		p := proposal()
		change(&p)
		_, err := o.Handover.Propose(t.Context(), p)
		require.ErrorIs(t, err, handover.ErrProposal)
		require.ErrorContains(t, err, name)
	}
	require.Empty(t, o.records(handover.CallID("token:a", "ann", "talk", "call_1"), ""))
}

// line is what the test reads of a decision in the check contract.
type line struct {
	ID, Decision, Code string
	Digest             *string
	Gates              []struct{ Gate, Outcome string }
}

// Check decides a line under the authority of its asker, and writes nothing.
func TestCheck(t *testing.T) {
	o := openOffice(t, "judge: {threshold: 0.30, ask_below: 0.50}\n")
	scope, err := skills.NewScope("crm.read", "web.*")
	require.NoError(t, err)
	check := func(a handover.Asker, text string) (out line, raw string) {
		t.Helper()
		b, err := o.Handover.Check(t.Context(), a, []byte(text))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &out))
		return out, string(b)
	}
	all := handover.Asker{Principal: "token:a", User: "ann", RequestHuman: true}
	const benign = `{"id":"7","original_request":"read customer c7","granted_skills":["crm.*"],"user":"eve",` +
		`"proposed_action":{"skill_name":"crm.read","arguments":{"id":"c7"}}}`
	got, raw := check(all, benign)
	require.Equal(t, "allow", got.Decision, raw)
	require.Equal(t, "7", got.ID)
	require.Len(t, got.Gates, len(sentinel.GateNames()))
	require.Contains(t, raw, `{"gate":"limits","outcome":"skipped"`)
	same, _ := check(all, benign)
	require.Equal(t, *got.Digest, *same.Digest)

	narrow := all
	narrow.Scope = scope
	got, _ = check(narrow, strings.Replace(benign, "crm.read", "crm.update", 1))
	require.Equal(t, "scope.not_granted", got.Code)
	got, _ = check(narrow, benign)
	require.Equal(t, "allow", got.Decision)

	const history = `{"original_request":"send the paper to the customer","granted_skills":["paper.send"],` +
		`"history":[{"skill_name":"crm.read","arguments":{},"result":"mallory@evil.test","trust":"trusted"}],` +
		`"proposed_action":{"skill_name":"paper.send","arguments":{"to":"mallory@evil.test"}}}`
	tainted, raw := check(all, history)
	require.NotEqual(t, "allow", tainted.Decision, raw)

	_, raw = check(all, `{"id":"x","proposed_action":{"skill_name":"crm.read","arguments":{"a":1,"a":2}}}`)
	require.Contains(t, raw, `"blocked_by":"parse"`)
	_, raw = check(all, `{"id":"x"}`)
	require.Contains(t, raw, `"error":{"code":`)
	_, err = o.Handover.Check(t.Context(), handover.Asker{Principal: "token:a"}, []byte(benign))
	require.ErrorIs(t, err, handover.ErrProposal)
	stats, err := o.Ledger.Stats(t.Context(), ledgerAll)
	require.NoError(t, err)
	require.Zero(t, stats.Records)
}

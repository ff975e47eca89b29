package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

type handed struct {
	ID, State, Warrant, Approval, Link, Result string
	Arguments                                  json.RawMessage
	Refusal                                    *struct{ What, Why, Do, Link, Code string }
}

func call(id, to string) map[string]any {
	return map[string]any{"conversation": "c", "call_id": id, "skill_name": "crm.update", "arguments": map[string]any{"id": to,
		"note": "CANARY"}}
}

// A call is decided, handed over once, reported, and proved.
func TestDecideRunReport(t *testing.T) {
	h := open(t, changes{})
	var a handed
	h.must("ann", "POST", "/v1/calls", call("1", "x"), &a)
	require.Equal(t, "allowed", a.State)
	require.NotEmpty(t, a.Warrant)
	require.JSONEq(t, `{"id":"x","note":"CANARY"}`, string(a.Arguments))
	var b handed
	h.must("ann", "POST", "/v1/calls", call("1", "x"), &b)
	require.Equal(t, "allowed", b.State)
	require.Empty(t, b.Warrant, "it is given once")
	require.Equal(t, "digest_mismatch", h.do("ann", "POST", "/v1/calls", call("1", "y")).code())
	require.Equal(t, "not_found", h.do("bob", "GET", "/v1/calls/"+a.ID, nil).code(), "another principal's")
	require.Equal(t, "not_found", h.do("bob", "POST", "/v1/calls/"+a.ID+"/outcome", map[string]any{"outcome": "ok"}).code())
	h.must("ann", "GET", "/v1/calls/"+a.ID, nil, &b)
	require.Equal(t, "allowed", b.State)
	h.must("ann", "POST", "/v1/calls/"+a.ID+"/outcome", map[string]any{"outcome": "ok", "result": "done"}, &b)
	require.Equal(t, "ok", b.State)
	require.Equal(t, "conflict", h.do("ann", "POST", "/v1/calls/"+a.ID+"/outcome", map[string]any{"outcome": "failed"}).code())
	h.must("ann", "POST", "/v1/calls", call("1", "x"), &b)
	require.Equal(t, "ok", b.State)
	require.Empty(t, b.Warrant)

	var found struct {
		Record  ledger.Record
		Related []ledger.Record
	}
	h.must("nobody", "GET", "/v1/ledger/records/"+a.ID, nil, &found)
	require.Equal(t, "decision", found.Record.Kind)
	require.NotEmpty(t, found.Related)
	raw := h.must("nobody", "GET", "/v1/ledger/records?skill=crm.update", nil, nil)
	asked := h.must("nobody", "GET", "/v1/ledger/records?q=skill:crm.*+since:24h+-user:zoe", nil, nil)
	require.Equal(t, string(raw.body), string(asked.body), "a query says the same")
	require.NotContains(t, string(raw.body), "CANARY")
	var proof ledger.Proof
	h.must("nobody", "GET", "/v1/ledger/records/"+found.Record.ID+"/proof", nil, &proof)
	head, err := ledger.CheckProof(proof, h.o.Parts().Keys.LedgerPublic())
	require.NoError(t, err)
	var newest struct {
		Head string
		Size int64
	}
	h.must("nobody", "GET", "/v1/ledger/head", nil, &newest)
	require.GreaterOrEqual(t, newest.Size, head.Size)
	require.Equal(t, "not_found", h.do("nobody", "GET", "/v1/ledger/records/nothing", nil).code())
}

// A refused call is a card; a held one goes on once a person has answered.
func TestCardsAndHeldCalls(t *testing.T) {
	h := open(t, changes{})
	var a handed
	h.must("ann", "POST", "/v1/calls", call("1", "no"), &a)
	require.Equal(t, "denied", a.State)
	require.Equal(t, "a call of crm.update", a.Refusal.What)
	require.Contains(t, a.Refusal.Why, "this one never")
	require.NotEmpty(t, a.Refusal.Do)
	require.Contains(t, a.Refusal.Link, "/v1/ledger/records/")
	h.must("ann", "POST", "/v1/calls", call("2", "vip"), &a)
	require.Equal(t, "pending", a.State)
	require.Equal(t, "/approvals/"+a.Approval, a.Link)
	var card approval.Card
	require.Eventually(t, func() bool { // the held record is durable before the inbox has its row
		r := h.do("bob", "GET", "/v1/approvals/"+a.Approval, nil)
		return r.StatusCode == 200 && json.Unmarshal(r.body, &card) == nil
	}, eventually, tick)
	h.must("bob", "POST", "/v1/approvals/"+a.Approval+"/answer", map[string]any{"word": "yes", "digest": card.Digest}, nil)
	require.Eventually(t, func() bool {
		h.must("ann", "POST", "/v1/calls", call("2", "vip"), &a)
		return a.State == "allowed" && a.Warrant != ""
	}, eventually, tick)
	h.must("narrow", "POST", "/v1/calls", call("3", "x"), &a)
	require.Equal(t, "denied", a.State, "the token's skills are the most")
	for name, body := range map[string]any{
		"another key": `{"conversation":"c","call_id":"1","skill_name":"crm.update","x":1}`, "no " +
			"conversation": `{"call_id":"1","skill_name":"crm.update"}`,
		"a long wait": `{"conversation":"c","call_id":"1","skill_name":"crm.update","wait_seconds":61}`,
		"no list":     `{"conversation":"c","call_id":"1","skill_name":"crm.update","history":{}}`,
	} {
		require.Equal(t, "invalid", h.do("ann", "POST", "/v1/calls", body).code(), name)
	}
	require.Equal(t, "bad_request", h.do("ann", "POST", "/v1/calls", `{"conversation":"c","conversation":"d"}`).code())
	h.must("ann", "POST", "/v1/calls", `{"conversation":"c","call_id":"9","skill_name":"crm.update","arguments":{"id":"x","id":"y"}}`, &a)
	require.Equal(t, "denied", a.State, "a key twice in the arguments is refused on record")
}

// A check decides and leaves nothing behind; the token's skills and user hold, whatever the body says.
func TestChecks(t *testing.T) {
	h := open(t, changes{})
	check := func(who string, body map[string]any) (out struct{ ID, Decision, Code string }) {
		h.must(who, "POST", "/v1/check", body, &out)
		return out
	}
	action := map[string]any{"skill_name": "mail.send", "arguments": map[string]any{"to": "x"}}
	got := check("check", map[string]any{"id": "7", "granted_skills": []string{"mail.*"}, "proposed_action": action})
	require.Equal(t, "7", got.ID)
	require.Equal(t, "ask", got.Decision)
	require.Equal(t, "deny", check("narrow", map[string]any{"granted_skills": []string{"mail.*"}, "proposed_action": action}).Decision)
	list, err := h.o.Parts().Ledger.List(t.Context(), ledger.Query{Skill: "mail.send"})
	require.NoError(t, err)
	require.Empty(t, list)
	require.Equal(t, "scope_missing", h.do("check", "POST", "/v1/check", map[string]any{"user": "bob", "proposed_action": action}).code())
	require.Equal(t, "invalid", h.do("check", "POST", "/v1/check", map[string]any{}).code())
	require.Equal(t, "bad_request", h.do("check", "POST", "/v1/check", `{"user":`).code())
	var deny struct{ Decision, BlockedBy string }
	h.must("check", "POST", "/v1/check",
		`{"granted_skills":["mail.*"],"proposed_action":{"skill_name":"mail.send","arguments":{"to":"a","to":"b"}}}`, &deny)
	require.Equal(t, "deny", deny.Decision)

	var skills struct{ Data []struct{ Name string } }
	h.must("narrow", "GET", "/v1/skills", nil, &skills)
	require.Len(t, skills.Data, 1)
	require.Equal(t, "note.read", skills.Data[0].Name)
}

// A skill that a changed configuration has no more is no longer listed.
func TestWithdrawnSkillsAreNotListed(t *testing.T) {
	h := open(t, changes{})
	h.stop()
	file := filepath.Join(h.dir, "vedette.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before := string(text) + "reload: {allow_loosening: true}\n"
	require.NoError(t, os.WriteFile(file, []byte(before), 0o600))
	h.start(changes{})
	list := func() (names []string) {
		var skills struct{ Data []struct{ Name string } }
		h.must("check", "GET", "/v1/skills", nil, &skills)
		for _, s := range skills.Data {
			names = append(names, s.Name)
		}
		return names
	}
	require.Contains(t, list(), "crm.update")
	begin, end := strings.Index(before, "skills:\n"), strings.Index(before, "permissions:\n")
	after := regexp.MustCompile(`(?m)^  - \{skill: "crm.*\n`).ReplaceAllString(before[:begin]+before[end:], "")
	require.NoError(t, os.WriteFile(file, []byte(after), 0o600))
	cfg, err := config.Load(file, config.Options{KnownSkills: []string{"mail.send", "note.read", "web.read"}})
	require.NoError(t, err)
	_, err = h.o.Parts().Reload(t.Context(), cfg, "file")
	require.NoError(t, err)
	require.Equal(t, []string{"mail.send", "note.read", "web.read"}, list())
}

// Lists find the calls of a conversation by the name that their caller used, and another principal's name finds nothing.
func TestProposedCallsAreListedByTheirConversation(t *testing.T) {
	h := open(t, changes{})
	body := call("1", "vip")
	body["conversation"] = "cx"
	var a handed
	h.must("ann", "POST", "/v1/calls", body, &a)
	require.Equal(t, "pending", a.State)
	var list struct{ Data []approval.Item }
	require.Eventually(t, func() bool {
		h.must("ann", "GET", "/v1/approvals?conversation=cx", nil, &list)
		return len(list.Data) == 1
	}, eventually, tick)
	require.Equal(t, a.Approval, list.Data[0].ID)
	kept := list.Data[0].Conversation
	h.must("ann", "GET", "/v1/approvals?state=all&conversation=cx", nil, &list)
	require.Len(t, list.Data, 1)
	h.must("ann", "GET", "/v1/approvals?conversation="+kept, nil, &list)
	require.Len(t, list.Data, 1, "the id itself")
	for _, path := range []string{"/v1/approvals?conversation=cy", "/v1/approvals?state=all&conversation=cy"} {
		h.must("ann", "GET", path, nil, &list)
		require.Empty(t, list.Data)
	}
	h.must("bob", "GET", "/v1/approvals?conversation=cx", nil, &list)
	require.Empty(t, list.Data, "another principal's name is another conversation")
	var records struct{ Data []ledger.Record }
	for _, name := range []string{"cx", kept} {
		h.must("ann", "GET", "/v1/ledger/records?conversation="+name, nil, &records)
		require.NotEmpty(t, records.Data, name)
		require.Equal(t, kept, records.Data[0].Conversation)
	}
	h.must("bob", "GET", "/v1/ledger/records?conversation=cx", nil, &records)
	require.Empty(t, records.Data)
}

// Each answer about a call names the decision as the ledger does, with its time and the skill.
func TestAnswersNameTheRecordedDecision(t *testing.T) {
	h := open(t, changes{})
	type told struct {
		ID, State string
		Decision  struct {
			ID string
			TS *time.Time
		}
		Refusal *struct{ What, Link string }
	}
	record := func(a told) ledger.Record {
		require.NotEmpty(t, a.Decision.ID)
		var found struct{ Record ledger.Record }
		h.must("ann", "GET", "/v1/ledger/records/"+a.Decision.ID, nil, &found)
		require.Equal(t, a.Decision.ID, found.Record.Decision)
		require.NotNil(t, a.Decision.TS)
		return found.Record
	}
	ask := func(method, path string, body any) (a told) {
		h.must("ann", method, path, body, &a)
		return a
	}
	first := ask("POST", "/v1/calls", call("1", "no"))
	rec := record(first)
	for _, again := range []told{ask("GET", "/v1/calls/"+first.ID, nil), ask("POST", "/v1/calls", call("1", "no"))} {
		require.Equal(t, first.Decision.ID, again.Decision.ID)
		require.True(t, rec.Time.Equal(*again.Decision.TS))
		require.Equal(t, "a call of crm.update", again.Refusal.What)
		require.Equal(t, first.Refusal, again.Refusal)
	}
	allowed := ask("POST", "/v1/calls", call("2", "x"))
	record(allowed)
	for _, again := range []told{
		ask("GET", "/v1/calls/"+allowed.ID, nil), ask("POST", "/v1/calls", call("2", "x")),
		ask("POST", "/v1/calls/"+allowed.ID+"/outcome", map[string]any{"outcome": "ok"}), ask("GET", "/v1/calls/"+allowed.ID, nil),
	} {
		require.Equal(t, allowed.Decision.ID, again.Decision.ID, again.State)
		record(again)
	}
	unknown := call("3", "x")
	unknown["skill_name"] = "CANARY.undeclared"
	refused := ask("POST", "/v1/calls", unknown)
	shown := h.must("ann", "GET", "/v1/calls/"+refused.ID, nil, nil)
	require.NotContains(t, string(shown.body), "undeclared")
}

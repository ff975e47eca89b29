package api_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/intent"
)

const intentConfig = `intent:
  isolation: goroutine
  currency: EUR
  actions:
    find_experts: {words: ["find experts", "find * experts"], risk: low}
    pay: {words: [pay], risk: high}
    break: {words: [break], risk: low}
    drop: {words: [drop everything], risk: low}
  expertise: {security: security, law: law}
  rates: {high: {per_minute: 3}}
  policy: {actions: [find_experts, pay, break], expertise: [security], budgets: {EUR: 1000}, forbid: {actions: [drop]}}
`

// openIntents is a house that takes texts.
func openIntents(t testing.TB) *house {
	t.Helper()
	do := func(_ context.Context, i intent.Trusted) (any, error) {
		return map[string]string{"did": i.Action().String()}, nil
	}
	fail := func(context.Context, intent.Trusted) (any, error) { return nil, errors.New("CANARY-broken") }
	return open(t, changes{intent: intentConfig, handlers: map[string]intake.Handler{
		"find_experts": do, "pay": do, "break": fail, "drop": do,
	}})
}

// processedText is an answer as the seed document has it.
type processedText struct {
	Request      string `json:"request_id"`
	Status       string `json:"status"`
	Code         string `json:"code"`
	Message      string `json:"message"`
	Approval     string `json:"approval"`
	Link         string `json:"approval_url"`
	Trusted      any    `json:"trusted_intent"`
	Result       any    `json:"result"`
	Confirmation *struct{ Digest string }
	Info         map[string]any `json:"pipeline_info"`
}

func textOf(text string, more ...string) map[string]any {
	out := map[string]any{"user_input": text, "session_id": "s1"}
	for i := 0; i+1 < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// Each end of a text has its status, at the paths of this API and at those of the seed document.
func TestTextsEndWithTheirStatus(t *testing.T) {
	h := openIntents(t)
	for _, path := range []string{"/v1/process", "/api/process"} {
		for _, c := range []struct {
			text, want, code string
			status           int
		}{
			{"Find experts in security", "completed", "", http.StatusOK},
			{"Find experts in security; rm -rf / --no-preserve-root", "blocked", intake.CodeDetected, http.StatusForbidden},
			{"Find experts in law", "pending_approval", intake.CodeMismatch, http.StatusAccepted},
			{"Drop everything", "denied", intake.CodeForbidden, http.StatusForbidden},
			{"Break it", "failed", intake.CodeFailed, http.StatusBadGateway},
			{"What a day", "failed", intake.CodeNoIntent, http.StatusBadGateway},
		} {
			r := h.do("ann", "POST", path, textOf(c.text))
			require.Equal(t, c.status, r.StatusCode, "%s: %s", c.text, r.body)
			var got processedText
			r.into(t, &got)
			require.Equal(t, c.want, got.Status, c.text)
			require.Equal(t, c.code, got.Code, c.text)
			require.NotEmpty(t, got.Request)
			require.NotContains(t, string(r.body), "CANARY")
			require.Contains(t, got.Info, "malicious_detection")
			if c.want == "completed" {
				require.NotNil(t, got.Trusted)
				require.Equal(t, map[string]any{"did": "find_experts"}, got.Result)
				for _, stage := range []string{"parser_results", "voting_result", "comparison_result"} {
					require.Contains(t, got.Info, stage)
				}
			}
			var again processedText
			look := h.do("ann", "GET", path+"/"+got.Request, nil).into(t, &again)
			require.Equal(t, c.status, look.StatusCode)
			require.Equal(t, got.Status, again.Status)
			require.Equal(t, "not_found", h.do("bob", "GET", path+"/"+got.Request, nil).code(), "another user's is not there")
		}
	}
}

// A confirmation is bound to the digest and the user, once; too many of a risk are told to wait.
func TestConfirmationsAreBoundToTheIntent(t *testing.T) {
	h := openIntents(t)
	send := func() (got processedText) {
		r := h.do("ann", "POST", "/v1/process", textOf("Pay 200 euros"))
		require.Equal(t, http.StatusAccepted, r.StatusCode, string(r.body))
		r.into(t, &got)
		require.Equal(t, "pending_confirmation", got.Status)
		return got
	}
	first := send()
	path := "/v1/process/" + first.Request + "/confirm"
	yes := map[string]any{"digest": first.Confirmation.Digest, "confirm": true}
	require.Equal(t, "not_found", h.do("bob", "POST", path, yes).code())
	require.Equal(t, "stale", h.do("ann", "POST", path, map[string]any{"digest": strings.Repeat("0", 64), "confirm": true}).code())
	var done processedText
	r := h.do("ann", "POST", path, yes).into(t, &done)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, "completed", done.Status)
	require.Equal(t, "conflict", h.do("ann", "POST", path, yes).code())
	second := send()
	r = h.do("ann", "POST", "/api/process/"+second.Request+"/confirm", map[string]any{"digest": second.Confirmation.Digest, "confirm": false})
	require.Equal(t, http.StatusForbidden, r.StatusCode)
	send()
	r = h.do("ann", "POST", "/v1/process", textOf("Pay 200 euros"))
	require.Equal(t, http.StatusTooManyRequests, r.StatusCode, string(r.body))
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	h.must("ann", "POST", "/v1/process", textOf("Find experts in security"), nil)
	require.Equal(t, http.StatusAccepted, h.do("bob", "POST", "/v1/process", textOf("Pay 200 euros")).StatusCode, "bob has his own")
}

// Texts and confirmations count as the user's own words, so a token that doesn't say that a person writes them sends none.
func TestTextsAreAPersonsOwn(t *testing.T) {
	h := openIntents(t)
	r := h.do("robot", "POST", "/v1/process", textOf("Find experts in security"))
	require.Equal(t, "forbidden", r.code(), string(r.body))
	var waits processedText
	h.do("ann", "POST", "/v1/process", textOf("Pay 200 euros")).into(t, &waits)
	yes := map[string]any{"digest": waits.Confirmation.Digest, "confirm": true}
	require.Equal(t, "forbidden", h.do("robot", "POST", "/v1/process/"+waits.Request+"/confirm", yes).code())
	require.Equal(t, http.StatusAccepted, h.do("robot", "GET", "/v1/process/"+waits.Request, nil).StatusCode, "it may look")
}

// A body names another user or approver only with the scope act_as.
func TestBodiesNameNoOther(t *testing.T) {
	h := openIntents(t)
	require.Equal(t, "scope_missing", h.do("ann", "POST", "/api/process", textOf("Find experts in security", "user_id", "bob")).code())
	h.must("ann", "POST", "/api/process", textOf("Find experts in security", "user_id", "ann"), nil)
	require.Equal(t, "invalid", h.do("gateway", "POST", "/api/process", textOf("Find experts in security")).code())
	h.must("gateway", "POST", "/api/process", textOf("Find experts in security", "user_id", "eve"), nil)
	require.Equal(t, "scope_missing", h.do("check", "POST", "/api/process", textOf("Find experts")).code())
	require.Equal(t, "invalid", h.do("ann", "POST", "/api/process", textOf("x", "ip_address", "1.2.3.4")).code())
	require.Equal(t, "invalid", h.do("ann", "POST", "/api/process", textOf(" \u200b")).code())
	require.Equal(t, "invalid", h.do("ann", "POST", "/api/process", textOf(strings.Repeat("a ", 9000))).code())
	require.Equal(t, "too_large", h.do("ann", "POST", "/api/process", textOf(strings.Repeat("a", 1<<20))).code())

	for _, c := range []struct{ who, approver, code string }{
		{"ann", "bob", "scope_missing"}, {"bob", "bob", ""}, {"bob", "", ""}, {"desk", "bob", ""}, {"desk", "token:root", "invalid"},
	} {
		var got processedText
		h.must("ann", "POST", "/api/process", textOf("Find experts in law"), &got)
		require.Contains(t, got.Message, "/api/approvals/"+got.Approval)
		require.Equal(t, "/approvals/"+got.Approval, got.Link)
		var card approval.Card
		h.must("bob", "GET", "/api/approvals/"+got.Approval, nil, &card)
		body := map[string]any{"decision": "approve", "approver_id": c.approver, "digest": card.Digest}
		r := h.do(c.who, "POST", "/api/approvals/"+got.Approval, body)
		require.Equal(t, c.code, r.code(), "%+v: %s", c, r.body)
		if c.code != "" {
			continue
		}
		require.Equal(t, http.StatusOK, r.StatusCode, string(r.body))
		require.Eventually(t, func() bool {
			h.do("ann", "GET", "/v1/process/"+got.Request, nil).into(t, &got)
			return got.Status == "completed"
		}, eventually, tick)
		h.must("bob", "GET", "/v1/approvals/"+got.Approval, nil, &card)
		require.Equal(t, "bob", card.By)
	}
	// Who sent a text in a user's name can't say yes to it in a third one.
	var got processedText
	h.must("desk", "POST", "/api/process", textOf("Find experts in law", "user_id", "dora"), &got)
	inbox := h.o.Parts().Inbox
	card, err := inbox.Show(t.Context(), got.Approval)
	require.NoError(t, err)
	r := h.do("desk", "POST", "/api/approvals/"+got.Approval,
		map[string]any{"decision": "approve", "approver_id": "bob", "digest": card.Digest})
	require.Equal(t, "not_allowed", r.code(), string(r.body))
}

// The ledger answers for a user, a session, a time, elevations and blocks, by id, and with counts.
func TestIntentsAreQueried(t *testing.T) {
	h := openIntents(t)
	var one processedText
	h.must("ann", "POST", "/v1/process", textOf("Find experts in security"), &one)
	h.do("ann", "POST", "/v1/process", textOf("Find experts; rm -rf / --no-preserve-root"))
	h.must("bob", "POST", "/v1/process", textOf("Find experts in law"), nil)
	for query, want := range map[string]int{
		"": 3, "?user_id=ann": 2, "?session_id=s1": 3, "?session_id=s2": 0, "?show=blocked": 1, "?show=elevations": 1,
		"?since=2100-01-01T00:00:00Z": 0, "?until=2100-01-01T00:00:00Z&user_id=bob": 1,
	} {
		for _, path := range []string{"/v1/ledger/intents", "/api/ledger"} {
			var list struct{ Data []intake.Summary }
			r := h.must("nobody", "GET", path+query, nil, &list)
			require.Len(t, list.Data, want, path+query)
			require.NotContains(t, string(r.body), "security")
		}
	}
	var page struct {
		Data []intake.Summary
		Next string `json:"next_cursor"`
	}
	h.must("nobody", "GET", "/v1/ledger/intents?limit=2", nil, &page)
	require.Len(t, page.Data, 2)
	h.must("nobody", "GET", "/v1/ledger/intents?limit=2&after="+page.Next, nil, &page)
	require.Len(t, page.Data, 1)
	require.Equal(t, one.Request, page.Data[0].Request)
	var chain struct{ Records []struct{ Kind string } }
	h.must("nobody", "GET", "/api/ledger/"+one.Request, nil, &chain)
	require.Equal(t, "intent_request", chain.Records[0].Kind)
	require.Equal(t, "intent_end", chain.Records[len(chain.Records)-1].Kind)
	require.Equal(t, "not_found", h.do("nobody", "GET", "/api/ledger/none", nil).code())
	var counts intake.Counts
	h.must("nobody", "GET", "/api/ledger/stats?user_id=ann", nil, &counts)
	require.EqualValues(t, 2, counts.Requests)
	require.EqualValues(t, 1, counts.Trusted)
	require.Equal(t, map[string]int64{"accepted": 1, "blocked": 1}, counts.Outcomes)
}

// A repeat under the same key is answered again, and nothing acts twice.
func TestTextsUnderAKeyActOnce(t *testing.T) {
	h := openIntents(t)
	var one, two processedText
	h.must("ann", "POST", "/v1/process", textOf("Find experts in security"), &one, "Idempotency-Key", "k1")
	h.must("ann", "POST", "/v1/process", textOf("Find experts in security"), &two, "Idempotency-Key", "k1")
	require.Equal(t, one.Request, two.Request)
}

package sentinel_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// What the ledger may hold of values is the operator's choice: names, keyed
// digests, or all but secrets. Nothing but the choice changes it.
func TestValuesModes(t *testing.T) {
	record := func(mode sentinel.ValuesMode, key byte, args string) string {
		b := newBench(t, func(o *sentinel.Options, _ *bench) { o.Values, o.DigestKey = mode, [32]byte{key} })
		_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(args))
		require.NoError(t, err)
		return string(b.rec.records[0].Body)
	}
	const args = `{"to":"CANARY","key":"HIDDEN"}`
	keys, hmac, full := record(sentinel.ValuesKeys, 1, args), record(sentinel.ValuesHMAC, 1, args), record(sentinel.ValuesFull, 1, args)
	require.NotContains(t, keys, "CANARY")
	require.NotContains(t, keys, "arg_hmacs")
	require.NotContains(t, hmac, "CANARY")
	require.Contains(t, hmac, `"arg_hmacs":{"/to":"hmac:`)
	require.Contains(t, full, "CANARY")
	for _, r := range []string{keys, hmac, full} {
		require.NotContains(t, r, "HIDDEN", "a secret is in no record, whatever the mode")
	}
	digests := func(body string) (args map[string]string, call string) {
		var b struct {
			ArgHMACs map[string]string `json:"arg_hmacs"`
			Digest   string            `json:"digest"`
		}
		require.NoError(t, json.Unmarshal([]byte(body), &b))
		return b.ArgHMACs, b.Digest
	}
	a1, c1 := digests(hmac)
	a2, c2 := digests(record(sentinel.ValuesHMAC, 1, args))
	require.Equal(t, a1, a2, "equal values can be found again")
	require.Equal(t, c1, c2)
	a3, c3 := digests(record(sentinel.ValuesHMAC, 2, args))
	require.NotEqual(t, a1, a3, "and nobody can try values without the key")
	require.NotEqual(t, c1, c3)
	b := newBench(t, nil)
	c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Args: []byte(args), Grant: grant(t)})
	require.NoError(t, err)
	require.NotContains(t, keys, c.Digest(), "the plain digest would let one try values offline")
}

// At values: keys no value, undeclared key or unknown skill name is in what
// the ledger gets; secrets aren't in the journal either. (Invariant 7.)
func TestRecordsHoldNoValues(t *testing.T) {
	leaky := sentinel.Verdict{State: sentinel.Judged, Outcome: sentinel.Allow, Detail: "CANARY"}
	b := newBench(t, nil, says("review", leaky))
	b.run = func() (skills.Result, error) { return skills.Result{Content: "CANARY"}, nil }
	desk := b.Desk(grant(t))
	_, err := desk.Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"CANARY","key":"HIDDEN","CANARY":{"CANARY":1}}`))
	require.NoError(t, err)
	_, err = desk.Invoke(t.Context(), "canary.CANARY", json.RawMessage(`{"a":"CANARY"}`))
	require.Equal(t, "permission.no_executor", refusalOf(t, err).Code, "these gates let everything pass")
	sealed := 0
	for _, r := range b.rec.records {
		for _, v := range r.Values {
			sealed += len(v.Data)
			require.NotContains(t, string(v.Data), "HIDDEN")
		}
		r.Values = nil
		open, err := json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, string(open)+string(r.Body), "CANARY")
	}
	require.Positive(t, sealed, "the values are kept for the journal")
	require.Contains(t, string(b.rec.records[0].Body), `"arg_names":["key","to"],"undeclared":1`)
}

// What a program did on the network is counted in the ledger, also where it failed;
// the hosts that it asked for are values.
func TestEgressIsRecorded(t *testing.T) {
	for status, failed := range map[string]error{sentinel.StatusOK: nil, sentinel.StatusFailed: errors.New("exit code 1")} {
		b := newBench(t, nil)
		b.run = func() (skills.Result, error) {
			return skills.Result{Egress: &skills.Egress{Connections: 2, Refused: 1, BytesOut: 30, BytesIn: 4,
				Details: json.RawMessage(`[{"host":"CANARY"}]`)}}, failed
		}
		_, err := b.Desk(grant(t)).Invoke(t.Context(), "test.do", nil)
		require.Equal(t, failed != nil, err != nil)
		last := b.rec.records[len(b.rec.records)-1]
		require.Equal(t, status, last.Outcome)
		require.Contains(t, string(last.Body), `"egress":{"connections":2,"refused":1,"bytes_out":30,"bytes_in":4}`)
		require.NotContains(t, string(last.Body), "CANARY")
		require.Contains(t, last.Values, sentinel.Value{Name: "egress", Data: []byte(`[{"host":"CANARY"}]`)})
	}
}

// In a malformed call a secret can stand under a name that is spelt wrong: no
// value of an undeclared name is kept then, whichever gate has stopped the call,
// whatever the ledger may hold, and also where rules have rewritten it.
func TestMalformedSecretsAreNotKept(t *testing.T) {
	bad := says(sentinel.GateSchema, sentinel.Refuse("schema.invalid", "no"))
	for name, c := range map[string]struct {
		change func(*sentinel.Options, *bench)
		gates  []sentinel.Gate
	}{
		"stopped by its schema": {nil, []sentinel.Gate{bad}},
		"beyond the limits": {func(_ *sentinel.Options, b *bench) { b.lim.verdict = outcome(sentinel.Deny, "limits.agent_calls") },
			[]sentinel.Gate{bad}},
		"with the limits away":    {func(_ *sentinel.Options, b *bench) { b.lim.err = errors.New("away") }, []sentinel.Gate{bad}},
		"with full values":        {func(o *sentinel.Options, _ *bench) { o.Values = sentinel.ValuesFull }, []sentinel.Gate{bad}},
		"with keyed digests":      {func(o *sentinel.Options, _ *bench) { o.Values = sentinel.ValuesHMAC }, []sentinel.Gate{bad}},
		"rewritten":               {nil, []sentinel.Gate{bad, to("SHOWN again")}},
		"rewritten to a good one": {nil, []sentinel.Gate{to("SHOWN again")}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.change, c.gates...)
			_, _ = b.Desk(grant(t)).Invoke(t.Context(), "test.do", json.RawMessage(`{"to":"SHOWN","keey":"HIDDEN","more":{"HIDDEN":"HIDDEN"}}`))
			require.NotEmpty(t, b.rec.records)
			var all []byte
			for _, r := range b.rec.records {
				all = append(all, r.Body...)
				for _, v := range r.Values {
					all = append(all, v.Data...)
				}
			}
			require.NotContains(t, string(all), "HIDDEN")
			require.Contains(t, string(all), "SHOWN")
		})
	}
}

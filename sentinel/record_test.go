package sentinel_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
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

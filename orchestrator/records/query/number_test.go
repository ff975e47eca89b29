package query

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

func TestQueryOfNumbers(t *testing.T) {
	drifted := &ledger.Record{Entry: ledger.Entry{Kind: "decision", Body: []byte(`{"v":1,"deviation":100,"drift":50}`)}}
	plain := &ledger.Record{Entry: ledger.Entry{Kind: "decision", Body: []byte(`{"v":1}`)}}
	for query, want := range map[string][2]bool{
		"drift:>0.5": {}, "drift:>=0.5": {true, false}, "drift:<0.5": {}, "drift:<=0.5": {true, false}, "drift:>0.49": {true, false},
		"drift:0.5": {true, false}, "drift:.5": {true, false}, "drift:0.4..0.6": {true, false}, "drift:0.51..0.6": {},
		"drift:<0.505": {true, false},
		"-drift:>0.4":  {false, true}, `drift:""`: {false, true}, `drift:"",>0.1`: {true, true}, "deviation:1 drift:>0": {true, false},
		"deviation:<1": {},
	} {
		q, err := Parse(query, queryNow)
		require.NoError(t, err, query)
		require.Equal(t, want, [2]bool{q.Matches(drifted), q.Matches(plain)}, query)
	}
	for _, query := range []string{"drift:>", "drift:high", "drift:1.5", "drift:-1", "drift:>>1", "drift:0.6..0.4", "drift:0..1..1",
		"drift:NaN", "drift:0x1", "drift:1e-1", "drift:*", "drift:>" + strings.Repeat("9", 400)} {
		_, err := Parse(query, queryNow)
		require.ErrorContains(t, err, "drift needs numbers from 0 to 1", query)
	}
}

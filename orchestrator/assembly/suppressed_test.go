package assembly_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Of 50 proposals that are no calls the ledger knows all: 20 one by one and the
// rest as a count, once the turn or its conversation has ended or the process
// ends, and without any of these soon.
func TestSuppressedProposalsAreOnRecord(t *testing.T) {
	for name, end := range map[string]func(*past, sentinel.Grant){
		"the turn ends":         func(p *past, g sentinel.Grant) { p.EndTurn(p.t.Context(), g) },
		"the conversation ends": func(p *past, g sentinel.Grant) { p.EndConversation(p.t.Context(), g.User(), g.Conversation()) },
		"the process ends":      func(p *past, _ sentinel.Grant) { require.NoError(p.t, p.Close()) },
		"nothing ends":          func(*past, sentinel.Grant) {},
	} {
		t.Run(name, func(t *testing.T) {
			p := pastHouse(t, assembly.Options{})
			g := p.grant("g")
			d := p.Checkpoint.Desk(g)
			for range 50 {
				_, err := d.Invoke(t.Context(), "note.plain", json.RawMessage(`[`))
				require.Error(t, err)
			}
			end(p, g)
			q := ledger.Query{Kind: sentinel.RecordRefused, Code: sentinel.CodeSuppressed}
			require.Eventually(t, func() bool { return len(records(t, p.Config, q)) > 0 }, 4*time.Minute, 5*time.Millisecond)
			list, sum := records(t, p.Config, ledger.Query{Kind: sentinel.RecordRefused}), 0
			for _, r := range list {
				var b struct{ Suppressed int }
				require.NoError(t, json.Unmarshal(r.Body, &b))
				require.Equal(t, []string{"ann", "c1"}, []string{r.User, r.Conversation})
				if sum += b.Suppressed; r.Code != sentinel.CodeSuppressed {
					sum++
				}
			}
			require.Equal(t, 50, sum)
		})
	}
}

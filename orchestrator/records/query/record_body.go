package query

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// recordBody is what queries read of a record's body. A record of another kind, or of another
// version, has what it has.
type recordBody struct {
	Effect    string     `json:"effect"`
	Approver  string     `json:"approver"`
	Via       string     `json:"via"`
	Policy    string     `json:"policy"`
	Turn      string     `json:"turn"`
	MissionBy string     `json:"mission_by"`
	Reason    string     `json:"reason"`
	Tainted   bool       `json:"tainted"`
	Outward   bool       `json:"outward"`
	Degraded  bool       `json:"degraded"`
	AskedAt   time.Time  `json:"asked_at"`
	ElapsedUS *int64     `json:"elapsed_us"`
	Deviation *int       `json:"deviation"`
	Drift     *int       `json:"drift"`
	Gates     []gateBody `json:"gates"`
}

// gateBody is what queries read of a gate's verdict.
type gateBody struct {
	Gate      string            `json:"gate"`
	State     string            `json:"state"`
	Outcome   string            `json:"outcome"`
	Code      string            `json:"code"`
	Reason    string            `json:"reason"`
	Score     *int              `json:"score"`
	ElapsedUS int64             `json:"elapsed_us"`
	Meta      map[string]string `json:"meta"`
	Evidence  []struct {
		Signal string `json:"signal"`
		Doubt  bool   `json:"doubt"`
	} `json:"evidence"`
}

// openBody reads a body. What can't be read is as if it were empty.
func openBody(r *ledger.Record) *recordBody {
	b := &recordBody{}
	if len(r.Body) > 0 && json.Unmarshal(r.Body, b) != nil {
		return &recordBody{}
	}
	return b
}

func (b *recordBody) listSignals(doubtsAlone bool) []string {
	var out []string
	for _, g := range b.Gates {
		for _, e := range g.Evidence {
			if e.Doubt || !doubtsAlone {
				out = append(out, e.Signal)
			}
		}
	}
	return out
}

// hasText reports whether the folded text stands in a reason or a code.
func (b *recordBody) hasText(r *ledger.Record, folded string) bool {
	has := func(s string) bool { return s != "" && strings.Contains(strings.ToLower(s), folded) }
	if has(r.Code) || has(b.Reason) {
		return true
	}
	return slices.ContainsFunc(b.Gates, func(g gateBody) bool { return has(g.Code) || has(g.Reason) })
}
